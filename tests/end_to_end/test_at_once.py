"""Several commands of one run at the same moment: each ends with the verdict of the run, and all files stay whole."""

from __future__ import annotations

import csv
import json
import time

import pytest
from fault_table import add_row
from faults import needs_time, status, trainer, trains
from playbook_bench import Bench, wait_until
from ports import free_port

pytestmark = pytest.mark.slow

RUN, ATTACH, STOP = "megatron_multinode.yml", "attach.yml", "stop.yml"


def is_whole(bench: Bench) -> bool:
    """Tell whether every file of the run is whole, and every step of each node is there once."""
    for path in bench.runs.rglob("*.json"):
        json.loads(path.read_text())
    with (bench.runs / "fault/records.csv").open(newline="") as stream:
        steps = [(row["node"], row["step"], row["metric"]) for row in csv.DictReader(stream)]
    return len(steps) == len(set(steps)) and not list(bench.runs.rglob("*.new"))


@pytest.mark.parametrize(
    ("playbooks", "steps", "verdict"),
    [
        ((ATTACH, ATTACH), 60, "INCONCLUSIVE"),
        ((RUN, ATTACH), 60, "INCONCLUSIVE"),
        ((STOP, STOP), 100_000, "ERROR"),
        ((STOP, ATTACH), 100_000, "ERROR"),
        ((RUN, STOP, ATTACH, STOP), 100_000, "ERROR"),
    ],
    ids=lambda value: ", ".join(name.split(".")[0] for name in value) if isinstance(value, tuple) else None,
)
def test_commands_of_one_run_at_the_same_moment_all_end_with_its_verdict(
    bench: Bench, playbooks: tuple[str, ...], steps: int, verdict: str
) -> None:
    if playbooks != (STOP, ATTACH):
        needs_time()
    hosts, config = bench.inventory(node0={}, node1={}), bench.config(training_iterations=str(steps))
    variables = {**trainer(bench), "training_master_port": free_port()}
    first = bench.start(RUN, hosts, config, **variables)
    wait_until(lambda: trains(bench))
    began = time.monotonic()
    runs = [first, *(bench.start(playbook, hosts, config, **variables) for playbook in playbooks)]
    outputs = [run.communicate(timeout=180)[0] for run in runs]
    ended = time.monotonic() - began
    for output in outputs:
        assert f"\n{verdict}  fault: " in output
        assert "Traceback" not in output
    assert is_whole(bench)
    assert bench.trainings() == []
    states = [status(bench, node) for node in ("node0", "node1")]
    assert {state["status"] for state in states} == ({"stopped"} if STOP in playbooks else {"exited"})
    names, shown = ", ".join(playbooks), verdict if STOP in playbooks else "unchanged"
    add_row(f"at the same moment, while {RUN} follows: {names}", ended, "each says the verdict of the run", shown)


def test_two_equal_commands_that_begin_at_the_same_moment_are_one_run(bench: Bench) -> None:
    needs_time()
    hosts, config = bench.inventory(node0={}, node1={}), bench.config(training_iterations="30")
    variables = {**trainer(bench), "training_master_port": free_port()}
    began = time.monotonic()
    runs = [bench.start(RUN, hosts, config, **variables) for _ in range(2)]
    outputs = [run.communicate(timeout=180)[0] for run in runs]
    ended = time.monotonic() - began
    assert ["\nINCONCLUSIVE  fault: " in output for output in outputs] == [True, True], outputs
    assert sum("already exists; resuming it" in output for output in outputs) == 1
    assert is_whole(bench)
    log = (bench.nodes / "fault/node0/train.log").read_text()
    assert [log.count(f" iteration {step}/") for step in (1, 30)] == [1, 1]
    add_row("the same command twice at once", ended, "one begins the run, the other follows it", "unchanged")


@pytest.mark.parametrize("playbook", [ATTACH, STOP, RUN])
def test_a_controller_that_is_killed_as_the_training_begins_is_followed_by_any_command(
    bench: Bench, playbook: str
) -> None:
    needs_time()
    steps = "100000" if playbook == STOP else "30"
    hosts, config = bench.inventory(node0={}, node1={}), bench.config(training_iterations=steps)
    variables = {**trainer(bench), "training_master_port": free_port()}
    run = bench.start_as_user(RUN, hosts, config, **variables)
    wait_until(bench.trainings)
    run.kill()
    run.communicate()
    wait_until(lambda: not bench.controllers())
    began = time.monotonic()
    done = bench.play(playbook, hosts, config, **variables)
    ended = time.monotonic() - began
    verdict = json.loads((bench.runs / "fault/summary.json").read_text())["verdict"]
    assert verdict == ("ERROR" if playbook == STOP else "INCONCLUSIVE"), done.output
    assert bench.trainings() == []
    shown = verdict if playbook == STOP else "unchanged"
    add_row(f"the controller is killed as the training begins; then {playbook}", ended, "the verdict", shown)


def test_a_training_that_ended_while_nobody_followed_it_is_judged_by_stop_as_by_attach(bench: Bench) -> None:
    hosts, config = bench.inventory(node0={}, node1={}), bench.config(training_iterations="15")
    run = bench.start_as_user(RUN, hosts, config, **trainer(bench))
    wait_until(lambda: trains(bench))
    run.kill()
    run.communicate()
    wait_until(lambda: not bench.trainings())
    began = time.monotonic()
    done = bench.play(STOP, hosts, config, training_run_id="fault")
    ended = time.monotonic() - began
    summary = json.loads((bench.runs / "fault/summary.json").read_text())
    assert [(node["exit_code"], node["last_step"]) for node in summary["nodes"]] == [(0, 15)] * 2, done.output
    add_row("the training ends while nobody follows it; then stop.yml", ended, "the verdict", "unchanged")


def test_a_run_that_is_stopped_after_its_controller_has_gone_is_judged_by_all_that_its_logs_say(bench: Bench) -> None:
    """A GPU fails on a node that then hangs, and nobody follows the run: stop.yml finds it, and attach.yml keeps it."""
    hosts, config = bench.inventory(node0={}, node1={}), bench.config(training_iterations="400")
    variables = trainer(bench)
    script = bench.folder / "megatron/examples/llama/train_llama3.sh"
    script.write_text(script.read_text().replace("exit 1;", "sleep 1000;"))
    run = bench.start_as_user(RUN, hosts, config, **variables)
    wait_until(lambda: trains(bench))
    run.kill()
    run.communicate()
    wait_until(lambda: not bench.controllers())
    known = status(bench)["last_step"]
    log = bench.nodes / "fault/node1/train.log"
    wait_until(lambda: f" iteration {known + 3}/" in log.read_text())
    draft = bench.folder / "draft"
    draft.write_text("[ 12.1] amdgpu 0000:05:00.0: amdgpu: RAS: Uncorrectable error detected\n")
    draft.rename(bench.folder / "last_words")
    wait_until(lambda: "Uncorrectable" in log.read_text())
    for playbook in (STOP, ATTACH):
        done = bench.play(playbook, hosts, config, training_run_id="fault")
        summary = json.loads((bench.runs / "fault/summary.json").read_text())
        steps = [line for line in log.read_text().splitlines() if " iteration " in line]
        assert (summary["verdict"], summary["interrupted"]) == ("ERROR", True), done.output
        assert {node["state"] for node in summary["nodes"]} == {"stopped"}
        assert summary["nodes"][1]["last_step"] == len(steps) > known
        first = summary["first_failure"]
        assert (first["node"], first["class"]) == ("node1", "gpu_ecc")
        assert bench.trainings() == []
