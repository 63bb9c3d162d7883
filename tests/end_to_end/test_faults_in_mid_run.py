"""Faults on two nodes of this machine: when they are noticed, what is said, what is left.

`make test-faults` does all of them and prints the table; a quick half is part of every test run.
"""

from __future__ import annotations

import json
import os
import time

import pytest
from faults import FAULTS, TRAINER, Fault, status
from playbook_bench import Bench, wait_until

TABLE = os.environ.get("TRAINOPS_FAULTS")


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_a_fault_is_noticed_named_and_leaves_nothing(bench: Bench, fault: Fault) -> None:
    if not (TABLE or fault.quick):
        pytest.skip("it takes its time; run `make test-faults`")
    script = bench.folder / "megatron/examples/llama/train_llama3.sh"
    script.parent.mkdir(parents=True)
    script.write_text(TRAINER.format(folder=bench.folder))
    variables = {
        "training_run_id": "fault",
        "training_megatron_root": str(bench.folder / "megatron"),
        "training_lost_timeout": 5,
        "training_stall_timeout": 8,
        **fault.options,
    }
    config = bench.config(training_iterations=str(fault.steps))
    run = bench.start("megatron_multinode.yml", bench.inventory(node0={}, node1={}), config, **variables)
    wait_until(lambda: all(status(bench, node).get("last_step", 0) > 3 for node in ("node0", "node1")))
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
    if fault.failure == "unreachable":
        assert len(bench.trainings()) > 0
        bench.find_again("node1")
        assert bench.play("stop.yml", bench.folder / "hosts", config, training_run_id="fault").status == 0
        left = "its processes, until stop.yml"
    else:
        left = "nothing"
    assert bench.trainings() == []
    assert (bench.runs / "fault/report.html").exists()
    if TABLE:
        with open(TABLE, "a", encoding="utf-8") as table:
            message = " ".join(said[0]["message"].replace(str(bench.folder), "…").split())[:90]
            table.write(
                f"| {fault.name} | {noticed:.1f} | {fault.failure}: {message} | {summary['verdict']} | {left} |\n"
            )


# The fault itself: a node is away for so long.
AWAY_SECONDS = 4


def test_a_node_that_was_away_is_followed_on_and_its_outage_is_in_the_report(bench: Bench) -> None:
    script = bench.folder / "megatron/examples/llama/train_llama3.sh"
    script.parent.mkdir(parents=True)
    script.write_text(TRAINER.format(folder=bench.folder))
    variables = {"training_run_id": "fault", "training_megatron_root": str(bench.folder / "megatron")}
    config = bench.config(training_iterations="60")
    run = bench.start("megatron_multinode.yml", bench.inventory(node0={}, node1={}), config, **variables)
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
    if TABLE:
        with open(TABLE, "a", encoding="utf-8") as table:
            away = note["evidence"]["seconds"]
            fault = f"the node is away for {AWAY_SECONDS} s"
            table.write(f"| {fault} | {away:.1f} | {note['message']} | as without it | nothing |\n")
