from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible_commands import run
from preflight_cases import PROBE


def play(folder: Path, *cases: dict[str, Any], variables: dict[str, str] | None = None) -> tuple[int, str]:
    """Run the action plugin with each of the options in a playbook of its own, as JSON, which is YAML too."""
    said = "{{ judged.rows | length }} rows, gid {{ judged.proposals.nccl_ib_gid_index }}"
    plays = [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "vars": variables or {},
            "tasks": [
                {
                    "trainops.cluster.training_preflight": options,
                    "register": "judged",
                    "ignore_errors": number < len(cases),
                },
                {"ansible.builtin.debug": {"msg": said}, "when": "judged is succeeded"},
            ],
        }
        for number, options in enumerate(cases, 1)
    ]
    playbook = folder / "play.yml"
    playbook.write_text(json.dumps(plays))
    done = run("ansible-playbook", "-i", "localhost,", str(playbook))
    return done.returncode, done.stdout + done.stderr


def test_nodes_that_are_ready_let_the_play_go_on(bench, tmp_path: Path) -> None:
    nodes = bench(nccl_ib_gid_index=None)
    status, output = play(tmp_path, {"plan": nodes.plan, "nodes": nodes.facts, "probe": PROBE})
    assert status == 0, output
    assert "Ready: nothing is red on 2 nodes." in output
    assert "msg: 64 rows, gid 3" in output


def test_red_cells_end_the_play_with_a_short_message_and_commands_for_this_inventory(bench, tmp_path: Path) -> None:
    nodes = bench()
    nodes[2]["numa"]["auto_balancing"] = 1
    nodes[1]["gpus"]["processes"] = [{"pid": 7, "command": "python3", "user": "alice", "run_id": "run3"}]
    status, output = play(
        tmp_path, {"plan": nodes.plan, "nodes": nodes.facts, "probe": PROBE}, variables={"training_output_dir": "/r"}
    )
    assert status == 2
    assert "NUMA auto-balancing is on" in output
    told = " ".join(output.split())
    assert "The preflight found 2 red cells on 2 of 2 nodes. See above for what to do about each." in told
    assert "rows:" not in output
    assert "playbooks/stop.yml -i localhost, -e training_output_dir=/r -e training_run_id=run3" in told


def test_what_is_no_plan_and_what_are_no_facts_is_refused(bench, tmp_path: Path) -> None:
    plan = bench().plan
    no_plans: list[dict[str, Any]] = [
        {"nodes": {}},
        {"plan": {}, "nodes": {}},
        {"plan": {"faults": [1], "nodes": []}, "nodes": {}},
    ]
    no_facts: list[dict[str, Any]] = [{"plan": plan, "nodes": {"gpu01": facts}} for facts in ({}, "facts")]
    status, output = play(tmp_path, *no_plans, *no_facts)
    assert status == 2
    told = " ".join(output.split())
    assert told.count("plan must be a plan without faults") == len(no_plans)
    assert told.count("nodes must map each node to what trainops.cluster.node_inspect returned") == len(no_facts)
