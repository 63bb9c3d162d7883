"""Faults on two nodes of this machine: the time until each is noticed, the report, and the leftovers.

`make test-faults` does all of them and prints the table; two are part of every test run.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time

import pytest
from fault_table import add_row
from faults import FAULTS, Fault, kernel_of_its_own, needs_time, status, trainer, trains
from not_run import need, need_root
from playbook_bench import Bench, wait_until
from ports import free_port

# With the defaults, a lost node is given up after a minute, and a hang is noticed after half an hour.
IMPATIENT = {"training_lost_timeout": 5, "training_stall_timeout": 8}


def marks_of(fault: Fault) -> tuple[pytest.MarkDecorator, ...]:
    """A failure and an error are part of every test run; tests/unit/run checks the other reasons to look at once."""
    return () if fault.quick and fault.failure == "killed" else (pytest.mark.slow,)


@pytest.mark.parametrize("fault", [pytest.param(fault, id=fault.name, marks=marks_of(fault)) for fault in FAULTS])
def test_a_fault_is_noticed_named_and_leaves_nothing(bench: Bench, fault: Fault) -> None:
    if not fault.quick:
        needs_time()
    if fault.node1 is kernel_of_its_own:
        need_root("only root can mount files over those of the kernel")
        need("unshare")
    settings = {**IMPATIENT, **fault.options}
    variables = {**trainer(bench), **settings}
    config = bench.config(training_iterations=str(fault.steps))
    run = bench.start(
        "megatron_multinode.yml", bench.inventory(node0={}, node1=fault.node1(bench)), config, **variables
    )
    wait_until(lambda: trains(bench))
    began = time.monotonic()
    fault.do(bench, bench.nodes / "fault/node1")
    wait_until(lambda: fault.noticed(status(bench)), fault.at_most)
    noticed = time.monotonic() - began
    output, _ = run.communicate(timeout=120)
    summary = json.loads((bench.runs / "fault/summary.json").read_text())
    assert (run.returncode != 0, summary["verdict"]) == (True, fault.verdict), output
    said = [reason for reason in summary["reasons"] if reason["code"] == fault.failure]
    if summary["first_failure"]:
        said.append({**summary["first_failure"], "code": summary["first_failure"]["class"]})
    assert (said[0]["code"], said[0]["node"]) in {(fault.failure, "node1"), ("stalled", "node0")}, output
    if fault.undo:
        assert len(bench.trainings()) > 0
        fault.undo(bench)
        assert bench.play("stop.yml", bench.folder / "hosts", config, training_run_id="fault").status == 0
        left = "its processes, until stop.yml"
    else:
        left = "nothing"
    assert bench.trainings() == []
    assert (bench.runs / "fault/report.html").exists()
    assert not fault.evidence or fault.evidence in summary["first_failure"]["evidence"], summary["first_failure"]
    message = said[0]["message"].replace(str(bench.folder), "…")
    message = f"{fault.evidence}; {message}" if fault.evidence else message
    add_row(fault.name, noticed, f"{fault.failure}: {message}", summary["verdict"], left, settings)


# The fault itself: a node is away for so long.
AWAY_SECONDS = 4


@pytest.mark.slow
def test_a_node_that_was_away_is_followed_on_and_its_outage_is_in_the_report(bench: Bench) -> None:
    config = bench.config(training_iterations="60")
    run = bench.start("megatron_multinode.yml", bench.inventory(node0={}, node1={}), config, **trainer(bench))
    wait_until(lambda: status(bench).get("last_step", 0) > 3)
    bench.lose("node1")
    time.sleep(AWAY_SECONDS)
    bench.find_again("node1")
    run.communicate(timeout=120)
    summary = json.loads((bench.runs / "fault/summary.json").read_text())
    (note,) = [note for note in summary["notes"] if note["code"] == "node_outage"]
    assert note["message"].startswith("node1 did not answer for ")
    assert {node["exit_code"] for node in summary["nodes"]} == {0}
    assert "node1 did not answer for " in (bench.runs / "fault/report.html").read_text()
    add_row(f"the node is away for {AWAY_SECONDS} s", note["values"]["seconds"], note["message"], "unchanged")


def test_a_controller_that_is_killed_ends_no_training_and_the_same_command_follows_it_on(bench: Bench) -> None:
    needs_time()
    hosts, config = bench.inventory(node0={}, node1={}), bench.config(training_iterations="150")
    variables = {**trainer(bench), "training_master_port": free_port()}
    run = bench.start_as_user("megatron_multinode.yml", hosts, config, **variables)
    wait_until(lambda: trains(bench))
    trainings = set(bench.trainings())
    run.kill()
    run.communicate()
    wait_until(lambda: not bench.controllers())
    began, last = time.monotonic(), status(bench)["last_step"]
    again = bench.start("megatron_multinode.yml", hosts, config, **variables)
    wait_until(lambda: trains(bench, last))
    followed = time.monotonic() - began
    assert trainings & set(bench.trainings())
    output, _ = again.communicate(timeout=180)
    assert "already exists; resuming it" in output
    summary = json.loads((bench.runs / "fault/summary.json").read_text())
    assert [node["last_step"] for node in summary["nodes"]] == [150, 150]
    said = "Run fault already exists; resuming it."
    add_row("the controller is killed, and the same command is given again", followed, said, "unchanged")


def test_stop_ends_a_run_whose_folders_on_the_nodes_are_gone(bench: Bench) -> None:
    needs_time()
    hosts, config = bench.inventory(node0={}, node1={}), bench.config(training_iterations="100000")
    run = bench.start_as_user("megatron_multinode.yml", hosts, config, **trainer(bench))
    wait_until(lambda: trains(bench))
    run.kill()
    run.communicate()
    wait_until(lambda: not bench.controllers())
    for node in ("node0", "node1"):
        shutil.rmtree(bench.nodes / "fault" / node)
    began = time.monotonic()
    stopped = bench.play("stop.yml", hosts, config, training_run_id="fault")
    ended = time.monotonic() - began
    assert bench.trainings() == []
    summary = json.loads((bench.runs / "fault/summary.json").read_text())
    assert stopped.status == 0, stopped.output
    add_row("stop.yml, with the run's folders on the nodes removed", ended, "stopped", summary["verdict"])


def test_of_two_commands_at_once_exactly_one_trains(bench: Bench) -> None:
    needs_time()
    hosts = bench.inventory(node0={}, node1={})
    inventory = json.loads(hosts.read_text())
    for name, variables in inventory["all"]["hosts"].items():
        # Each is a machine of its own.
        variables["training_node_environment"] = {"TRAINOPS_LOCK_FOLDER": str(bench.folder / f"locks of {name}")}
    hosts.write_text(json.dumps(inventory))
    config, variables = bench.config(training_iterations="20"), trainer(bench)
    began = time.monotonic()
    runs = [
        bench.start("megatron_multinode.yml", hosts, config, **{**variables, "training_run_id": name}) for name in "ab"
    ]
    wait_until(lambda: any(run.poll() is not None for run in runs), 120)
    refused = time.monotonic() - began
    outputs = [run.communicate(timeout=120)[0] for run in runs]
    summaries = [json.loads((bench.runs / name / "summary.json").read_text()) for name in "ab"]
    trained = [{node["last_step"] for node in summary["nodes"]} == {20} for summary in summaries]
    assert sorted(trained) == [False, True], outputs
    (loser,) = [place for place, well in enumerate(trained) if not well]
    assert f"held by run {'ba'[loser]}" in outputs[loser]
    add_row("two runs at once on the same nodes", refused, f"the node is held by run {'ba'[loser]}", "ERROR of one")


def test_a_full_disk_of_the_log_is_named_with_its_node(bench: Bench) -> None:
    needs_time()
    need_root("only root can mount a small disk")
    need("losetup", "mkfs.ext4", "fallocate")
    folder, image = bench.nodes / "fault/node1", bench.folder / "disk"
    folder.mkdir(parents=True)
    with image.open("wb") as disk:
        disk.truncate(1300 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(folder)], check=True)
    folder.chmod(0o700)
    try:
        config = bench.config(training_iterations="60")
        run = bench.start("megatron_multinode.yml", bench.inventory(node0={}, node1={}), config, **trainer(bench))
        wait_until(lambda: trains(bench))
        began = time.monotonic()
        # It takes all that is left, and says that it was not enough; the rest goes to the last block.
        subprocess.run(["fallocate", "--length", "1300M", str(folder / "filler")], check=False, capture_output=True)
        with contextlib.suppress(OSError), (folder / "rest").open("wb", buffering=0) as rest:
            while True:
                rest.write(bytes(4096))
        run.communicate(timeout=180)
        noticed = time.monotonic() - began
        summary = json.loads((bench.runs / "fault/summary.json").read_text())
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
    first = summary["first_failure"]
    assert (first["node"], first["class"]) == ("node1", "disk_full"), summary
    assert bench.trainings() == []
    message = first["message"].replace(str(bench.folder), "…")
    add_row(
        "the disk with a node's log fills up, and the training ends",
        noticed,
        f"disk_full: {message}",
        summary["verdict"],
    )
