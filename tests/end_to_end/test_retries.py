"""A run that failed of a node is tried again without it, and a run that failed of its config is not."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
from pathlib import Path

import pytest
from not_run import need
from playbook_bench import Bench, Finished, wait_until

STEPS = "40"


def inventory(bench: Bench, spares: tuple[str, ...] = ("spare0",)) -> Path:
    path = bench.inventory(node0={}, node1={}, **{name: {} for name in spares})
    inventory = json.loads(path.read_text())
    inventory["all"]["children"] = {"spares": {"hosts": {name: {} for name in spares}}}
    path.write_text(json.dumps(inventory))
    return path


def killed_in_mid_run(
    bench: Bench, hosts: Path, config: Path, node: str = "node1", after: int = 3, **variables
) -> Finished:
    """Play a run, and kill all of its processes on one node after a step."""
    variables = {"training_run_id": "nightly", "training_retries": 1, **variables}
    run = bench.start("megatron_multinode.yml", hosts, config, **variables)
    status = bench.runs / f"nightly/nodes/{node}/status.json"
    wait_until(lambda: status.exists() and json.loads(status.read_text()).get("last_step", 0) > after)
    for pid in bench.trainings(node):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    output, _ = run.communicate(timeout=240)
    return Finished(run.returncode, output, bench.runs)


def summary(bench: Bench, run_id: str) -> dict:
    return json.loads((bench.runs / run_id / "summary.json").read_text())


@pytest.mark.slow
def test_a_spare_takes_the_place_of_a_node_that_was_killed_until_its_preflight_is_green(bench: Bench) -> None:
    hosts, config = inventory(bench), bench.config(training_iterations=STEPS)
    done = killed_in_mid_run(bench, hosts, config, training_spares="spares")
    assert done.status == 0, done.output
    assert "PASS (attempt 2)  nightly-2" in done.output
    first, second = summary(bench, "nightly"), summary(bench, "nightly-2")
    assert (first["verdict"], first["retry"]) == ("FAIL", None)
    assert [node["node"] for node in first["nodes"]] == ["node0", "node1"]
    assert [node["node"] for node in second["nodes"]] == ["node0", "spare0"]
    (left_out,) = second["retry"]["left_out"]
    assert (left_out["node"], left_out["spare"]) == ("node1", "spare0")
    assert any("node1 was left out" in note["message"] for note in second["notes"])
    assert "attempt 2" in (bench.runs / "nightly-2/report.html").read_text()
    history = [path.name for path in bench.runs.glob("history/**/*.parquet")]
    assert [name.endswith("_nightly.parquet") for name in history] == [True]
    assert bench.trainings() == []

    planned = bench.play("plan.yml", hosts, config, training_spares="spares", training_framework="megatron")
    assert planned.status == 0, planned.output
    told = " ".join(planned.output.split())
    assert "node1 is left out, and spare0 takes its place: it made run nightly fail at " in told
    held = json.loads((bench.runs / "quarantine.json").read_text())[str(hosts)]["node1"]
    assert (held["run_id"], held["reason"]) == ("nightly", left_out["reason"])
    assert held["reason"].startswith("killed: ")

    need("ip")
    checked = bench.play("preflight.yml", hosts, config, "--limit", "node1", training_spares="spares")
    assert checked.status == 0, checked.output
    assert "Released from quarantine: node1." in checked.output
    planned = bench.play("plan.yml", hosts, config, training_spares="spares", training_framework="megatron")
    assert "is left out" not in planned.output


@pytest.mark.slow
def test_a_run_that_is_tried_again_goes_on_from_the_last_checkpoint_that_all_nodes_see(bench: Bench) -> None:
    kept = bench.folder / "checkpoints"
    variables = {"SAVE_CKPT_PATH": str(kept), "LOAD_CKPT_PATH": str(kept), "SAVE_INTERVAL": "10"}
    config = bench.config(training_iterations=STEPS, container_config={"env_dict": variables})
    done = killed_in_mid_run(bench, inventory(bench), config, after=12, training_spares="spares")
    assert done.status == 0, done.output
    (note,) = [note["message"] for note in summary(bench, "nightly-2")["notes"] if note["code"] == "retry"]
    found = re.search(rf"it resumed with step (\d+), from the last checkpoint in {kept}", note)
    assert found, note
    assert int(found[1]) % 10 == 1
    log = (bench.runs / "nightly-2/nodes/spare0/train.log").read_text()
    assert f" iteration {int(found[1]):8d}/" in log
    assert " iteration        1/" not in log


@pytest.mark.slow
def test_a_spare_is_preflighted_before_it_trains_and_one_that_is_not_ready_is_left_out_as_well(bench: Bench) -> None:
    need("ip")
    hosts, config = inventory(bench, spares=("spare0", "spare1")), bench.config(training_iterations=STEPS)
    whole = json.loads(hosts.read_text())
    whole["all"]["hosts"]["spare0"]["ansible_python_interpreter"] = "/nowhere/python3"
    hosts.write_text(json.dumps(whole))
    done = killed_in_mid_run(bench, hosts, config, training_spares="spares", training_retries=2)
    assert done.status == 0, done.output
    second, third = summary(bench, "nightly-2"), summary(bench, "nightly-3")
    assert (second["verdict"], second["first_failure"]["node"]) == ("ERROR", "spare0")
    assert "the node could not be inspected" in second["first_failure"]["message"]
    assert [node["node"] for node in third["nodes"]] == ["node0", "spare1"]
    assert "Ready: nothing is red on 1 node." in done.output
    held = json.loads((bench.runs / "quarantine.json").read_text())[str(hosts)]
    assert list(held) == ["node1", "spare0"]
    assert bench.trainings() == []


@pytest.mark.slow
def test_a_node_that_cannot_be_staged_is_left_out_and_a_run_that_can_be_staged_nowhere_is_not_tried_again(
    bench: Bench,
) -> None:
    hosts, config = inventory(bench), bench.config()
    whole = json.loads(hosts.read_text())
    whole["all"]["hosts"]["node1"]["ansible_python_interpreter"] = "/nowhere/python3"
    hosts.write_text(json.dumps(whole))
    variables = {"training_run_id": "nightly", "training_retries": 1, "training_spares": "spares"}
    done = bench.play("megatron_multinode.yml", hosts, config, **variables)
    assert done.status == 0, done.output
    first = summary(bench, "nightly")
    assert (first["verdict"], first["first_failure"]["node"], first["first_failure"]["class"]) == (
        *("ERROR", "node1", "not_ready"),
    )
    assert [node["node"] for node in summary(bench, "nightly-2")["nodes"]] == ["node0", "spare0"]
    held = json.loads((bench.runs / "quarantine.json").read_text())[str(hosts)]
    assert list(held) == ["node1"]
    assert held["node1"]["reason"].startswith("not_ready: ")

    for host in whole["all"]["hosts"].values():
        host["ansible_python_interpreter"] = "/nowhere/python3"
    hosts.write_text(json.dumps(whole))
    (bench.runs / "quarantine.json").unlink()
    done = bench.play("megatron_multinode.yml", hosts, config, **{**variables, "training_run_id": "weekly"})
    assert done.status != 0
    assert "Run weekly is not retried: none of its nodes is known to have failed." in " ".join(done.output.split())
    assert not (bench.runs / "quarantine.json").exists()


@pytest.mark.slow
def test_without_a_spare_a_run_goes_on_at_the_next_size_that_can_be_planned(bench: Bench) -> None:
    hosts, config = inventory(bench, spares=()), bench.config(training_iterations=STEPS)
    done = killed_in_mid_run(bench, hosts, config, node="node0", training_scale_batch="reference_nodes")
    assert done.status == 0, done.output
    assert "PASS (attempt 2, 1 of 2 nodes)  nightly-2" in done.output
    assert [node["node"] for node in summary(bench, "nightly-2")["nodes"]] == ["node1"]


def test_a_fault_of_the_config_is_not_tried_again(bench: Bench) -> None:
    hosts = inventory(bench)
    root = bench.megatron('echo "RuntimeError: HIP out of memory. Tried to allocate"; exit 1\n')
    variables = {"training_megatron_root": root, "training_run_id": "nightly"}
    more = {"training_retries": 3, "training_spares": "spares"}
    done = bench.play("megatron_multinode.yml", hosts, bench.config(), **variables, **more)
    assert done.status != 0
    told = " ".join(done.output.split())
    assert "Run nightly is not retried: out_of_memory could happen on any other node as well." in told
    assert not (bench.runs / "nightly-2").exists()
    assert not (bench.runs / "quarantine.json").exists()


def test_what_is_wrong_with_spares_and_quarantine_is_a_fault_of_the_plan(bench: Bench) -> None:
    hosts = inventory(bench)
    bench.runs.mkdir()
    (bench.runs / "quarantine.json").write_text("{}")
    (bench.runs / "quarantine.json").chmod(0o666)
    done = bench.play("plan.yml", hosts, bench.config(), training_spares="sparse", training_framework="megatron")
    told = " ".join(done.output.split())
    assert done.status != 0
    assert (
        "The inventory has no group sparse with hosts in it. Set it to one of the inventory's groups: spares." in told
    )
    assert "quarantine.json, so its list of hosts cannot be trusted." in told
