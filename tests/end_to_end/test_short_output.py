"""Ansible's output without -v: changes and failures, and the hosts of the recap folded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_commands import finished
from playbook_bench import Bench

HOSTS = {f"gpu{number}": {"ansible_connection": "local"} for number in range(7)}
REASON = "its GPU hung"
PLAY = [
    {
        "name": "A play without hosts",
        "hosts": "all:!all",
        "gather_facts": False,
        "tasks": [],
    },
    {
        "name": "A play",
        "hosts": "all",
        "gather_facts": False,
        "tasks": [
            {"name": "Change nothing", "ansible.builtin.meta": "noop"},
            {"name": "Change nothing here", "ansible.builtin.assert": {"that": True}},
            {"name": "Say it", "ansible.builtin.debug": {"msg": "said"}, "run_once": True},
            {"name": "Skip it", "ansible.builtin.debug": {"msg": "skipped"}, "when": False},
            {
                "name": "Fail the host",
                "trainops.cluster.training_node_result": {"state": "failed", "reason": REASON},
                "when": "inventory_hostname == 'gpu2'",
            },
            {
                "name": "Lose hosts",
                "trainops.cluster.training_node_result": {
                    "state": "unreachable",
                    "reason": "no way leads to host-of-{{ inventory_hostname[-1] }}.",
                    "cause": "no_route",
                },
                "when": "inventory_hostname is search('[13]')",
            },
            {
                "name": "Do not reach hosts",
                "ansible.builtin.ping": {},
                "vars": {"ansible_connection": "ssh", "ansible_host": "no-such-{{ inventory_hostname }}.invalid"},
                "when": "inventory_hostname is search('[45]')",
            },
            {
                "name": "Fail for items",
                "trainops.cluster.training_node_result": {"state": "failed", "reason": "item {{ item }}"},
                "loop": [1, 2],
                "when": "inventory_hostname == 'gpu6'",
            },
            {
                "name": "Change the host",
                "ansible.builtin.add_host": {"name": "gpu0", "groups": "changed"},
                "changed_when": True,
                "run_once": True,
            },
        ],
    },
]


@pytest.fixture
def shown(bench: Bench, tmp_path: Path):
    """Play it and return the lines that are shown."""
    (tmp_path / "hosts").write_text(json.dumps({"all": {"hosts": HOSTS}}))
    (tmp_path / "play.yml").write_text(json.dumps(PLAY))

    def play(*options: str) -> list[str]:
        command = ["ansible-playbook", str(tmp_path / "play.yml"), "-i", str(tmp_path / "hosts"), *options]
        return finished(command, bench.environment()).stdout.splitlines()

    return play


def test_without_v_changes_and_failures_are_a_line_each_and_the_recap_is_folded(shown) -> None:
    lines = [line.rstrip() for line in shown() if line]
    output = "\n".join(lines)
    assert "msg: said" in output
    assert "Change nothing" not in output
    lines = lines[next(number for number, line in enumerate(lines) if line.startswith("failed:")) :]
    assert lines[0] == f"failed: [gpu2] {REASON}"
    assert lines[1].startswith("unreachable: [gpu[1,3]] no way leads to host-of-")
    assert lines[2].startswith("unreachable: [gpu[4-5]] No such host name")
    assert lines[3].startswith("  What to do: ")
    assert lines[4:6] == [f"failed: [gpu6] Fail for items: {number}: item {number}" for number in (1, 2)]
    assert lines[6] == "changed: [gpu0] Change the host"
    assert lines[7].startswith("PLAY RECAP")
    recap = dict(line.split(" : ") for line in lines[8:])
    assert {hosts.strip() for hosts in recap} == {"gpu0", "gpu[1,3]", "gpu2", "gpu[4-5]", "gpu6"}
    assert "failed=1" in next(counts for hosts, counts in recap.items() if hosts.strip() == "gpu2")


def test_v_shows_all_that_ansible_shows(shown) -> None:
    output = "\n".join(shown("-v"))
    for part in ("PLAY [A play without hosts]", "TASK [Say it]", "skipping: [gpu0]", "fatal: [gpu2]", "gpu3  "):
        assert part in output
