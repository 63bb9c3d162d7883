"""The hosts that a run failed on are failed or unreachable in the recap and for ansible-runner, and no others are."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal

from ClusterShell.NodeSet import NodeSet
from playbook_bench import ROOT, Bench, Finished, wait_until
from test_runner_job import Job, answers

NODES: dict[str, dict] = {"node0": {}, "node1": {}, "node2": {}}
PLAYBOOK = "megatron_multinode.yml"


def recap(output: str) -> dict[str, tuple[int, int]]:
    """How often each host failed, and was unreachable."""
    rows = re.findall(r"^([\w,\[\]-]+) +: ok=\d+ .*unreachable=(\d+) +failed=(\d+)", output, re.MULTILINE)
    counts = {host: (int(failed), int(dark)) for hosts, dark, failed in rows for host in NodeSet(hosts)}
    return {host: found for host, found in counts.items() if host != "localhost"}


def blamed(output: str) -> set[str]:
    """The hosts that a line of a task names as fatal."""
    lines = re.findall(r"^(?:fatal|failed|unreachable): \[(\S+)\][ :]", output, re.MULTILINE)
    return {host for hosts in lines for host in NodeSet(hosts)}


def three(bench: Bench, **changes) -> tuple:
    return bench.inventory(**NODES), bench.config(nnodes="3", batch_size="12", micro_batch_size="4", **changes)


def test_all_nodes_of_a_run_that_passes_are_in_the_recap(bench: Bench) -> None:
    done = bench.play(PLAYBOOK, *three(bench))
    assert done.status == 0, done.output
    assert recap(done.output) == {"node0": (0, 0), "node1": (0, 0), "node2": (0, 0)}


def test_a_node_that_is_off_is_unreachable_no_other_is_red_and_later_plays_see_its_fact(bench: Bench) -> None:
    bench.lose("node1")
    said = "{{ item }}: {{ hostvars[item].training_summary.state }}"
    task = {"ansible.builtin.debug": {"msg": said}, "loop": "{{ groups.training_bad_hosts }}"}
    mine = bench.folder / "mine.yml"
    train = {"ansible.builtin.import_playbook": str(ROOT / "playbooks" / PLAYBOOK)}
    mine.write_text(json.dumps([train, {"hosts": "localhost", "gather_facts": False, "tasks": [task]}]))
    done = bench.play(str(mine), *three(bench))
    assert done.status != 0
    assert "node1: unreachable" in done.output, done.output
    assert recap(done.output) == {"node0": (0, 0), "node1": (0, 1), "node2": (0, 0)}, done.output
    assert blamed(done.output) == {"node1"}, done.output


def test_a_node_whose_training_is_killed_has_failed_and_those_that_it_stops_have_not(bench: Bench) -> None:
    done = killed(bench, "node2")
    assert recap(done.output) == {"node0": (0, 0), "node1": (0, 0), "node2": (1, 0)}, done.output
    assert blamed(done.output) == {"node2"}


def killed(bench: Bench, node: str, **variables) -> Finished:
    """Play a run of which all processes on a node are killed once it trains."""
    run = bench.start(PLAYBOOK, *three(bench, training_iterations="100000"), training_run_id="one", **variables)
    status = bench.runs / f"one/nodes/{node}/status.json"
    wait_until(lambda: status.exists() and json.loads(status.read_text()).get("last_step", 0) > 1)
    for pid in bench.trainings(node):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    output, _ = run.communicate(timeout=120)
    assert run.returncode != 0, output
    return Finished(run.returncode, output, bench.runs)


def test_with_retries_the_node_at_fault_is_red_once_there_is_no_other_attempt(bench: Bench) -> None:
    bench.lose("node1")
    done = bench.play(PLAYBOOK, *three(bench), training_run_id="one", training_retries=1)
    assert done.status != 0
    assert "Run one is not retried: " in " ".join(done.output.split()), done.output
    assert recap(done.output) == {"node0": (0, 0), "node1": (0, 1), "node2": (0, 0)}, done.output


def test_a_node_that_refuses_to_start_has_failed_and_those_that_wait_for_it_have_not(bench: Bench) -> None:
    inventory, config = three(bench)
    first = bench.play(PLAYBOOK, inventory, config, training_run_id="one")
    assert first.status == 0, first.output
    # Only node1 still holds the run that the controller has forgotten.
    shutil.rmtree(bench.runs)
    for node in ("node0", "node2"):
        shutil.rmtree(bench.nodes / "one" / node)
    done = bench.play(PLAYBOOK, inventory, config, training_run_id="one")
    assert done.status != 0
    assert recap(done.output) == {"node0": (0, 0), "node1": (1, 0), "node2": (0, 0)}, done.output
    assert blamed(done.output) == {"node1"}, done.output


def test_what_is_wrong_with_no_node_fails_the_host_that_judges(bench: Bench) -> None:
    done = bench.play(PLAYBOOK, *three(bench, elapsed_time_per_iteration="0.001"))
    assert done.status != 0
    assert recap(done.output) == {"node0": (1, 0), "node1": (0, 0), "node2": (0, 0)}, done.output


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
