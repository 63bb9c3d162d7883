# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps on two nodes of this machine: cell after cell, whatever the result of each."""

from __future__ import annotations

import json
import shutil
import signal

import pandas as pd
import pytest
from not_run import need
from playbook_bench import ROOT, wait_until
from ports import free_port
from test_right_host import recap

TWO = {"sweep0": {}, "sweep1": {}}
TRAINER = f'cd {ROOT}/roles/training/files/trainer && exec bash examples/llama/train_llama3.sh "$@"\n'
BREAK = "container_config.env_dict.BREAK"
# Three cells: one that is left out, one that breaks on the second node.
MATRIX = {"micro_batch_size": [1, 2], BREAK: ["no", "yes"], "exclude": [{"micro_batch_size": 2, BREAK: "yes"}]}
GOOD, BROKEN, OTHER = "micro_batch_size_1-BREAK_no", "micro_batch_size_1-BREAK_yes", "micro_batch_size_2-BREAK_no"


@pytest.fixture
def sweep(bench):
    """Return a function that plays a sweep with a script that breaks on request, always on the same port."""
    root = bench.megatron(
        f'if [ "$BREAK$TRAINOPS_NODE" = yessweep1 ]; then echo "RuntimeError: it broke"; exit 3; fi\n{TRAINER}'
    )
    port = free_port()

    def play(inventory=None, **variables):
        return bench.play(
            "sweep.yml",
            inventory or bench.inventory(**TWO),
            bench.config(),
            **{
                "training_megatron_root": root,
                "training_master_port": port,
                "training_sweep_id": "s",
                "training_matrix": MATRIX,
                **variables,
            },
        )

    return play


def told(bench):
    """Return the verdicts of the cells by name."""
    return {cell["name"]: cell["verdict"] for cell in json.loads((bench.runs / "s/sweep.json").read_text())["cells"]}


def test_a_failed_cell_does_not_stop_the_rest(bench, sweep):
    first = sweep()
    assert first.status != 0
    assert told(bench) == {GOOD: "PASS", BROKEN: "FAIL", OTHER: "PASS"}, first.output
    assert "Of 3 cells, 1 did not pass (micro_batch_size_1-BREAK_yes)" in first.output
    assert "sweep1: python_error: RuntimeError: it broke" in first.output
    assert recap(first.output) == {"sweep0": (0, 0), "sweep1": (1, 0)}, first.output
    assert "sweep s: 2 PASS, 1 FAIL" in first.output
    assert first.output.rstrip().endswith(f"Report: {bench.runs}/s/sweep.html")
    assert bench.trainings() == []
    history = pd.read_parquet(bench.runs / "history")
    assert sorted(history["run_id"]) == sorted(f"s-{name}" for name in (GOOD, BROKEN, OTHER))
    assert history["key"].nunique() == 3


@pytest.mark.slow
def test_the_same_command_runs_what_is_missing(bench, sweep):
    sweep()
    # As if the controller had died before this cell began.
    for path in sorted((bench.runs / f"s-{OTHER}").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (bench.runs / f"s-{OTHER}").rmdir()
    shutil.rmtree(bench.nodes / f"s-{OTHER}")
    before = (bench.runs / f"s-{GOOD}/summary.json").stat().st_mtime_ns
    again = sweep()
    assert f"{GOOD}   has run already" in again.output
    assert f"{OTHER}   will run" in again.output
    assert again.output.count("Start all ranks and follow the training") == 1
    assert f"Run s-{OTHER} (cell 3 of 3)" in again.output
    assert (bench.runs / f"s-{GOOD}/summary.json").stat().st_mtime_ns == before
    assert told(bench) == {GOOD: "PASS", BROKEN: "FAIL", OTHER: "PASS"}


def test_all_faults_of_all_cells_are_told_before_the_first_is_run(bench, sweep):
    done = sweep(training_matrix={"micro_batch_size": [1, 3, "many"], "precision": ["TE_BF16", "FP9"]})
    assert done.status != 0
    assert "No node has been touched." in done.output
    assert "model_params.multi_node.llama3_tiny.cpu.precision = FP9" in done.output
    assert "model_params.multi_node.llama3_tiny.cpu.micro_batch_size = many" in done.output
    assert not bench.runs.exists()


@pytest.mark.slow
@pytest.mark.long
def test_stop_on_failure_leaves_the_rest_for_the_next_call(bench, sweep):
    broken_first = {
        "micro_batch_size": [1, 2],
        BREAK: ["yes", "no"],
        "exclude": [{"micro_batch_size": 2, BREAK: "yes"}],
    }
    first = sweep(training_matrix=broken_first, training_sweep_stop_on_failure=True)
    assert first.status != 0
    assert told(bench) == {BROKEN: "FAIL", GOOD: "NOT RUN", OTHER: "NOT RUN"}, first.output
    assert "Continue with the same command and -e training_sweep_id=s" in first.output
    sweep(training_matrix=broken_first, training_sweep_stop_on_failure=True)
    assert told(bench) == {BROKEN: "FAIL", GOOD: "PASS", OTHER: "PASS"}


@pytest.mark.slow
def test_a_host_that_does_not_answer_fails_each_cell_and_drops_out_of_none(bench, sweep):
    need("ssh")
    gone = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 9, "training_address": "10.9.9.9"}
    inventory = bench.inventory(sweep0={"training_address": "10.9.9.8"}, sweep1=gone)
    both = {"micro_batch_size": [1, 2], "master_address": ["auto"]}
    done = sweep(inventory, training_matrix=both)
    assert done.status != 0
    assert set(told(bench).values()) == {"ERROR"}, done.output
    assert recap(done.output) == {"sweep0": (0, 0), "sweep1": (0, 1)}, done.output
    for name in told(bench):
        summary = json.loads((bench.runs / f"s-{name}/summary.json").read_text())
        assert {node["node"]: node["state"] for node in summary["nodes"]}["sweep1"] == "unreachable"


@pytest.mark.slow
def test_a_cell_whose_controller_went_away_is_picked_up_where_it_stands(bench):
    long = {"training_iterations": [60], "micro_batch_size": [1]}
    inventory, port = bench.inventory(**TWO), free_port()
    variables = {"training_sweep_id": "s", "training_matrix": long, "training_master_port": port}
    controller = bench.start_as_user("sweep.yml", inventory, bench.config(), **variables)
    cell = bench.runs / "s-training_iterations_60-micro_batch_size_1"
    status = cell / "nodes/sweep0/status.json"
    wait_until(lambda: status.exists() and json.loads(status.read_text()).get("last_step"))
    controller.send_signal(signal.SIGKILL)
    controller.wait()
    assert controller.stdout is not None
    controller.stdout.close()
    done = bench.play("sweep.yml", inventory, bench.config(), **variables)
    assert "is picked up where it stands" in done.output
    assert done.status == 0, done.output
    assert [node["last_step"] for node in json.loads((cell / "summary.json").read_text())["nodes"]] == [60, 60]


def test_check_mode_plans_all_cells_and_writes_nothing(bench):
    done = bench.play(
        "sweep.yml",
        bench.inventory(**TWO),
        bench.config(),
        "--check",
        training_sweep_id="s",
        training_matrix={"micro_batch_size": [1, 2]},
    )
    assert done.status == 0, done.output
    assert "sweep s: 2 cells" in done.output
    assert not bench.runs.exists()
