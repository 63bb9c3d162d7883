# SPDX-License-Identifier: GPL-3.0-or-later
"""The signs that a log is from another workload than the planned one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from training_logs import ALL, LOGS, SILENT, WORKLOAD, Node, judged, line


def told(nodes: list[Node], folder: Path, **changes) -> list[str]:
    summary = judged(nodes, folder, **changes)
    assert summary["verdict"] == "FAIL"
    return [reason["message"] for reason in summary["reasons"] if reason["code"] == "other_workload"]


def test_a_training_that_goes_on_after_the_last_planned_step(tmp_path: Path) -> None:
    nodes = [Node("gpu00", SILENT), Node("gpu01", ALL, told={"steps_total": None})]
    assert "The log of gpu01 is from another workload: it goes on to step 10, but the plan ends at 8." in told(
        nodes, tmp_path, parameters={"iterations": 8}
    )


@pytest.mark.parametrize("layers", [32, None], ids=["the planned one", "the plan does not know"])
def test_a_model_of_another_size(layers: int | None, tmp_path: Path) -> None:
    nodes = [Node("gpu00", SILENT, told={"settings": {"layers": [2.0], "hidden_size": [4096.0]}}), Node("gpu01", ALL)]
    workload = WORKLOAD | {"layers": layers, "hidden_size": 4096}
    if layers is None:
        assert judged(nodes, tmp_path, workload=workload)["verdict"] == "PASS"
        return
    assert told(nodes, tmp_path, workload=workload) == ["gpu00 trained with 2 layers; the plan has 32."]


@pytest.mark.parametrize(("rate", "verdict"), [(1024, "PASS"), (2048, "FAIL")])
def test_token_rates_without_a_config_that_the_logs_of_the_nodes_contradict(
    rate: int, verdict: str, tmp_path: Path
) -> None:
    of_first = {"world_size": 16, "settings": {"sequence_length": [2048.0]}}
    rated = re.sub(
        r"(elapsed time per iteration \(ms\): ([\d.]+) \|)",
        lambda found: f"{found[1]} tokens per GPU (tokens/s/GPU): {rate * 1e3 / float(found[2]):.1f} |",
        ALL,
    )
    summary = judged([Node("gpu00", SILENT, told=of_first), Node("gpu01", rated)], tmp_path, workload=None)
    assert (summary["verdict"], [reason["code"] for reason in summary["reasons"]].count("other_workload")) == (
        verdict,
        int(verdict == "FAIL"),
    )


def test_one_log_that_has_two_numbers_of_ranks(tmp_path: Path) -> None:
    nodes = [Node("gpu00", SILENT), Node("gpu01", ALL, told={"world_size": 8, "settings": {"gpus": [4.0]}})]
    assert "The number of ranks is 4 in the log of gpu01, but 8 in another line of it." in told(nodes, tmp_path)


def test_nodes_of_one_job_that_see_another_number_of_ranks(tmp_path: Path) -> None:
    nodes = [Node("gpu00", SILENT, told={"world_size": 8}), Node("gpu01", ALL, told={"world_size": 16})]
    assert told(nodes, tmp_path) == ["The number of ranks is 16 on gpu01, but 8 on gpu00."]


@pytest.mark.parametrize(
    ("first", "last", "step", "found", "due"),
    [(4, 4, 1, 4, 8), (8, 4, 3, 20, 24)],
    ids=["all the time", "from a step on"],
)
def test_samples_that_do_not_grow_by_the_planned_batch(first, last, step, found, due, tmp_path: Path) -> None:
    consumed = [first, first * 2]
    while len(consumed) < 10:
        consumed.append(consumed[-1] + last)
    log = ALL
    for number, samples in enumerate(consumed, 1):
        log = log.replace(f"consumed samples: {number * 8:12d} |", f"consumed samples: {samples:12d} !", 1)
    nodes = [Node("gpu00", SILENT), Node("gpu01", log.replace("!", "|"))]
    assert told(nodes, tmp_path) == [
        f"The log of gpu01 is from another workload: by step {step} it had consumed {found} samples; "
        f"with a global batch size of 8 it would be {due}."
    ]


@pytest.mark.parametrize(
    ("tflops", "ms", "changes", "found"),
    [
        (400.0, 100.0, {}, None),
        (330.0, 100.0, {}, None),
        (800.0, 100.0, {}, 19.5e9),
        (200.0, 100.0, {}, 4.88e9),
        # Over the whole matrix attention takes twice as many: here as many as all else.
        (800.0, 100.0, {"layers": 40, "hidden_size": 4096, "sequence_length": 8192}, None),
        (1400.0, 100.0, {"layers": 40, "hidden_size": 4096, "sequence_length": 8192}, 34.2e9),
        # With one decimal these may be 30 % off.
        (0.3, 100.0, {"model_flops_per_token": 5e6}, None),
        (400.0, 100.0, {"model_flops_per_token": None}, None),
    ],
)
def test_tflops_are_those_of_the_model(tflops, ms, changes, found, tmp_path: Path) -> None:
    workload = WORKLOAD | {"peak_tflops_per_gpu": 2000.0} | changes
    log = "".join(line(step, tflops=tflops, ms=ms) for step in range(1, 11))
    summary = judged([Node("gpu00", SILENT), Node("gpu01", log)], tmp_path, workload=workload, expected=[], **LOGS)
    reasons = [reason for reason in summary["reasons"] if reason["code"] == "rates_disagree"]
    told = [(reason["case"], reason["values"]["found"], reason["values"]["planned"]) for reason in reasons]
    assert told == ([("flops_per_token", pytest.approx(found, rel=0.01), 1e10)] if found else [])


SIZES = {
    "data_parallelism": [4.0],
    "tensor_parallelism": [2.0],
    "global_batch_size": [8.0],
    "micro_batch_size": [2.0],
}


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({}, None),
        ({"pipeline_parallelism": [1.0], "context_parallelism": [1.0]}, None),
        ({"context_parallelism": [2.0]}, "its parallel sizes make 16 ranks, but it sees 8."),
        ({"tensor_parallelism": [2.0, 4.0], "context_parallelism": [2.0]}, "two values"),
        ({"micro_batch_size": [3.0]}, "8 sequences do not divide into micro batches of 3 on 4 ranks."),
    ],
)
def test_parallel_sizes_make_the_ranks_and_divide_the_batch(sizes, says, tmp_path: Path) -> None:
    first = Node("gpu00", SILENT, told={"world_size": 8, "settings": SIZES | sizes})
    summary = judged([first, Node("gpu01", ALL)], tmp_path, workload=None, **LOGS)
    assert (summary["verdict"] == "PASS") is (says is None), summary["reasons"]
    assert says is None or any(says in reason["message"] for reason in summary["reasons"])


def test_lines_of_another_number_of_iterations_than_the_arguments_say(tmp_path: Path) -> None:
    first = Node("gpu00", SILENT, told={"settings": {"iterations": [80.0]}})
    nodes = [first, Node("gpu01", ALL, told={"steps_total": 10})]
    assert "The number of iterations is 10 on gpu01, but 80 on gpu00." in told(
        nodes, tmp_path, parameters={"iterations": None}, workload=None
    )


@pytest.mark.parametrize(("tflops", "says"), [(400.4, False), (160.0, True)])
def test_all_devices_of_a_job_compute_the_same(tflops: float, says: bool, tmp_path: Path) -> None:
    nodes = [Node("gpu00", ALL), Node("gpu01", "".join(line(step, tflops=tflops) for step in range(1, 11)))]
    summary = judged(nodes, tmp_path, framework="maxtext", expected=[], workload=None, **LOGS)
    told = [reason["message"] for reason in summary["reasons"] if reason["code"] == "rates_disagree"]
    message = (
        "A device of gpu01 computes 2 TFLOP in a step, but one of gpu00 computes 5; in one job all compute the same."
    )
    assert told == [message] * says


@pytest.mark.parametrize(("rate", "code"), [("1.000000E+05", "impossible"), ("1.000000E-30", "idle_steps")])
def test_a_learning_rate_that_teaches_nothing(rate: str, code: str, tmp_path: Path) -> None:
    summary = judged([Node("gpu00", SILENT), Node("gpu01", ALL.replace("1.000000E-04", rate))], tmp_path)
    assert code in [reason["code"] for reason in summary["reasons"]]


@pytest.mark.parametrize(
    ("times", "fraction", "same"),
    [
        ([100.0, 100.1] * 5, "", False),
        ([100.0] * 10, "", False),
        ([100.0] * 10, ".123456", True),
        ([100.3, 99.8, 104.2, 101.7, 98.9, 102.2, 100.9, 99.1, 103.4, 101.1], "", True),
    ],
    ids=["two times in turn", "one time", "at the same microseconds", "each time another one"],
)
def test_nodes_with_the_same_times_share_a_log_only_where_that_is_no_chance(
    times, fraction, same, tmp_path: Path
) -> None:
    stamped = ((step, f" [2026-01-02 03:04:{step:02}{fraction}]") for step in range(1, 11))
    log = "".join(stamp + line(step, ms=ms) for (step, stamp), ms in zip(stamped, times, strict=True))
    summary = judged([Node("gpu00", log), Node("gpu01", log)], tmp_path, mode="single_node")
    assert ("same_log" in [reason["code"] for reason in summary["reasons"]]) is same
