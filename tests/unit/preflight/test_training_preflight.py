from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from preflight_cases import PROBE, ROOT


def play(folder: Path, **options: Any) -> tuple[int, str]:
    """Run the action plugin in a playbook of its own, as JSON, which is YAML too."""
    playbook = folder / "play.yml"
    tasks = [
        {"trainops.cluster.training_preflight": options, "register": "judged"},
        {
            "ansible.builtin.debug": {
                "msg": "{{ judged.rows | length }} rows, gid {{ judged.proposals.nccl_ib_gid_index }}"
            }
        },
    ]
    playbook.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), str(playbook)],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCAL_TEMP": str(folder / "local")},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_nodes_that_are_ready_let_the_play_go_on(bench, tmp_path: Path) -> None:
    nodes = bench(nccl_ib_gid_index=None)
    status, output = play(tmp_path, plan=nodes.plan, nodes=nodes.facts, probe=PROBE)
    assert status == 0, output
    assert "Ready: nothing is red on 2 nodes." in output
    assert "msg: 42 rows, gid 3" in output


def test_a_red_cell_ends_the_play_with_a_short_message(bench, tmp_path: Path) -> None:
    nodes = bench()
    nodes[2]["numa"]["auto_balancing"] = 1
    status, output = play(tmp_path, plan=nodes.plan, nodes=nodes.facts, probe=PROBE)
    assert status == 2
    assert "NUMA auto-balancing is on" in output
    told = " ".join(output.split())
    assert "The preflight has 1 red cell(s) on 1 of 2 nodes, named above with what to do about each." in told
    assert "rows:" not in output


@pytest.mark.parametrize(
    "options", [{}, {"plan": {}, "nodes": {}}, {"plan": {"faults": [1], "nodes": []}, "nodes": {}}]
)
def test_what_is_no_plan_is_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    status, output = play(tmp_path, **options)
    assert status == 2
    assert "plan must be a plan without faults" in output


@pytest.mark.parametrize("nodes", [None, {"gpu01": {}}, {"gpu01": "facts"}])
def test_what_are_no_facts_is_refused(bench, tmp_path: Path, nodes: Any) -> None:
    given = {} if nodes is None else {"nodes": nodes}
    status, output = play(tmp_path, plan=bench().plan, **given)
    assert status == 2
    assert "nodes must map each node to what trainops.cluster.node_inspect returned" in " ".join(output.split())
