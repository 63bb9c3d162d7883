from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible_commands import run


def play(folder: Path, *cases: dict[str, Any]) -> tuple[int, str]:
    """Run the action plugin with each of the options in a playbook of its own, as JSON, which is YAML too."""
    plays = [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "tasks": [{"trainops.cluster.training_preflight": options, "ignore_errors": number < len(cases)}],
        }
        for number, options in enumerate(cases, 1)
    ]
    playbook = folder / "play.yml"
    playbook.write_text(json.dumps(plays))
    done = run("ansible-playbook", "-i", "localhost,", str(playbook))
    return done.returncode, done.stdout + done.stderr


def test_what_is_no_plan_and_nodes_that_are_no_hosts_are_refused(bench, tmp_path: Path) -> None:
    no_plans: list[dict[str, Any]] = [{}, {"plan": {}}, {"plan": {"faults": [1], "nodes": []}}]
    status, output = play(tmp_path, *no_plans, {"plan": bench().plan})
    assert status == 2
    told = " ".join(output.split())
    assert told.count("plan must be a plan without faults") == len(no_plans)
    assert "gpu01, gpu02 of the plan are no hosts of the inventory" in told
