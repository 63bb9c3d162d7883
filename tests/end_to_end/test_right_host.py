"""The hosts that a run failed on are failed or unreachable in the recap and for ansible-runner, and no others are.

For a node that refuses to start see ``test_training.py``.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal

import pytest
from finished_runs import finished_run
from playbook_bench import ROOT, Bench, wait_until
from recaps import blamed, recap
from test_runner_job import Job, answers

NODES: dict[str, dict] = {"node0": {}, "node1": {}, "node2": {}}
PLAYBOOK = "megatron_multinode.yml"


def three(bench: Bench, **changes) -> tuple:
    return bench.inventory(**NODES), bench.config(nnodes="3", batch_size="12", micro_batch_size="4", **changes)


def test_all_nodes_of_a_run_that_passes_are_in_the_recap() -> None:
    done = finished_run("pass")
    assert done.status == 0, done.output
    assert recap(done.output) == {"node0": (0, 0), "node1": (0, 0)}


@pytest.mark.slow
def test_what_is_wrong_with_no_node_fails_the_host_that_judges() -> None:
    done = finished_run("fail")
    assert done.status != 0
    assert recap(done.output) == {"node0": (1, 0), "node1": (0, 0)}, done.output


def test_a_node_that_is_off_is_unreachable_no_other_is_red_and_later_plays_see_its_fact(bench: Bench) -> None:
    bench.lose("node1")
    said = "{{ item }}: {{ hostvars[item].training_summary.state }}"
    task = {"ansible.builtin.debug": {"msg": said}, "loop": "{{ groups.training_bad_hosts }}"}
    mine = bench.folder / "mine.yml"
    train = {"ansible.builtin.import_playbook": str(ROOT / "playbooks" / PLAYBOOK)}
    mine.write_text(json.dumps([train, {"hosts": "localhost", "gather_facts": False, "tasks": [task]}]))
    # There is no other attempt, because a node that was never there is no reason for one.
    done = bench.play(str(mine), *three(bench), training_run_id="one", training_retries=1)
    assert done.status != 0
    assert "Run one is not retried: " in " ".join(done.output.split()), done.output
    assert "node1: unreachable" in done.output, done.output
    assert recap(done.output) == {"node0": (0, 0), "node1": (0, 1), "node2": (0, 0)}, done.output
    assert blamed(done.output) == {"node1"}, done.output


def test_a_node_whose_training_is_killed_has_failed_and_those_that_it_stops_have_not(bench: Bench) -> None:
    run = bench.start(PLAYBOOK, *three(bench, training_iterations="100000"), training_run_id="one")
    status = bench.runs / "one/nodes/node2/status.json"
    wait_until(lambda: status.exists() and json.loads(status.read_text()).get("last_step", 0) > 1)
    for pid in bench.trainings("node2"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    output, _ = run.communicate(timeout=120)
    assert run.returncode != 0, output
    assert bench.trainings() == []
    summary = json.loads((bench.runs / "one/summary.json").read_text())
    assert summary["verdict"] == "FAIL"
    first = summary["first_failure"]
    assert (first["node"], first["class"]) == ("node2", "killed")
    assert {echo["node"] for echo in first["echoes"]} == {"node0", "node1"}
    assert recap(output) == {"node0": (0, 0), "node1": (0, 0), "node2": (1, 0)}, output
    assert blamed(output) == {"node2"}


@pytest.mark.slow
def test_ansible_runner_counts_the_node_that_is_off(bench: Bench) -> None:
    bench.lose("node1")
    job = Job(bench)
    inventory, config = three(bench)
    environment = bench.environment()
    lost = {name: environment[name] for name in ("TRAINOPS_LOST_NODES", "ANSIBLE_CONNECTION_PLUGINS")}
    done = job.play(PLAYBOOK, inventory, answers(bench, config), **lost)
    assert done.rc != 0
    assert (done.stats["failures"], done.stats["dark"]) == ({}, {"node1": 1}), job.stdout
    assert set(NODES) <= set(done.stats["processed"])
    assert job.artifacts["training_summary"]["verdict"] == "ERROR"
