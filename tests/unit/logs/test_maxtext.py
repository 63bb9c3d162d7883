from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from row_values import of_evidence, of_metrics

from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.maxtext import GRAMMAR, left_out
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.maxtext import parse as steps_of_piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log
from ansible_collections.trainops.cluster.plugins.module_utils.logs.settings import add_arguments

PERF = "seconds: 5.250, TFLOP/s/device: 135.5, Tokens/s/device: 8687.5"
PERF_METRICS = {"step_time_ms": 5250.0, "tflops_per_gpu": 135.5, "tokens_per_sec_per_gpu": 8687.5}


def parse(text: bytes, memory: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return steps_of_piece(Piece(text), memory)


def steps_of(text: str, memory: dict[str, Any] | None = None) -> list[tuple[int, dict[str, float]]]:
    found = parse(text.encode(), {} if memory is None else memory)
    return [(step["step"], of_metrics(step["metrics"])) for step in found]


TEST_VARIANTS = [
    (
        "2023-02",
        "completed step: 7, seconds: 5.250, TFLOP/s: 135.5, loss 11.5",
        {"step_time_ms": 5250.0, "tflops_per_gpu": 135.5, "loss": 11.5},
    ),
    (
        "2023-02, a little later",
        "completed step: 7, seconds: 5.250, TFLOP/s: 135.5, loss: 11.5",
        {"step_time_ms": 5250.0, "tflops_per_gpu": 135.5, "loss": 11.5},
    ),
    (
        "2023-11",
        "completed step: 7, seconds: 5.250, TFLOP/s/device: 135.5, loss: 11.5",
        {"step_time_ms": 5250.0, "tflops_per_gpu": 135.5, "loss": 11.5},
    ),
    ("2024-07", f"completed step: 7, {PERF}, loss: 11.5", {**PERF_METRICS, "loss": 11.5}),
    (
        "2024-08, ROCm/maxtext",
        f"completed step: 7, {PERF}, total_weights: 196608, loss: 11.5",
        {**PERF_METRICS, "loss": 11.5},
    ),
    (
        "2025-07, multi-token prediction",
        f"completed step: 7, {PERF}, total_weights: 196608, loss: 11.5, main_model_loss: 10.5, mtp_loss: 1.000",
        {**PERF_METRICS, "loss": 11.5},
    ),
    (
        "2025-11, batch size ramps up",
        "[Rampup Batch Size Phase], completed step: 7, seconds: 5.250, total_weights: 196608, loss: 11.5",
        {"step_time_ms": 5250.0, "loss": 11.5},
    ),
    (
        "2025-11, first days of it",
        "[Rampup Batch Size Phase]: completed step: 7, total_weights: 196608, loss: 11.5",
        {"loss": 11.5},
    ),
    (
        "2025-11, the profiler disturbs the step",
        "completed profiler activation/deactivation step: 7, total_weights: 196608, loss: 11.5",
        {"loss": 11.5},
    ),
    (
        "2026, absl's prefix, other losses before and after",
        "I0811 21:54:55.531340 138304841739136 metric_logger.py:226] completed step: 7, live slice count: 2, "
        f"{PERF}, total_weights: 1572864, moe_lb_loss: 0.010000, loss: 11.5, lm_loss: 10.5, perplexity: 99.5, "
        "dpo_loss: 0.5, indexer_loss: 0.25",
        {**PERF_METRICS, "loss": 11.5},
    ),
]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\x1b[0m\n"])
@pytest.mark.parametrize(("line", "metrics"), [case[1:] for case in TEST_VARIANTS], ids=[v[0] for v in TEST_VARIANTS])
def test_every_variant_of_the_line_gives_its_metrics(line: str, metrics: dict[str, float], end: str) -> None:
    assert steps_of(f"noise\n{line}{end}noise\n") == [(7, pytest.approx(metrics))]


@pytest.mark.parametrize(
    "line",
    [
        "Completed eval after train step 7, loss=11.5, perplexity=99.5, total_weights=5000.0",
        "Completed eval step: 7, seconds: 1.000, running loss=11.5",
        "eval metrics after step: 7, loss=11.5, total_weights=5000",
        "To see full metrics 'tensorboard --logdir=/x'",
        "completed step: ",
        "Config param steps: 50",
    ],
)
def test_other_lines_are_no_steps(line: str) -> None:
    assert steps_of(f"{line}\n") == []


def test_numbers_may_be_nan_or_infinite() -> None:
    [(_, metrics)] = steps_of("completed step: 7, seconds: 5.250, TFLOP/s/device: inf, loss: nan\n")
    assert metrics["tflops_per_gpu"] == math.inf
    assert math.isnan(metrics["loss"])


def test_only_the_whole_fields_of_torn_and_glued_lines_count() -> None:
    assert steps_of("completed step: 7, seconds: 5.250, TFLOP/s/device: 13") == [(7, {"step_time_ms": 5250.0})]
    (_seven, torn), (_eight, cut) = steps_of("completed step: 7, seconds: 5.2completed step: 8, loss: 3.5I0811 noise\n")
    assert torn == {}
    assert math.isnan(cut["loss"])
    assert steps_of("completed step: 7") == []


@pytest.mark.parametrize("value", ["NaN", "INF", '"inf"', "oops", "", "-Infinity"])
@pytest.mark.parametrize("field", ["seconds", "TFLOP/s/device", "Tokens/s/device", "loss"])
def test_a_text_in_the_place_of_a_number_is_none_and_not_absent(field: str, value: str) -> None:
    [(_step, metrics)] = steps_of(f"completed step: 7, {field}: {value}\n")
    assert [math.isfinite(number) for number in metrics.values()] == [False]


def test_the_prefix_of_absl_tells_the_time() -> None:
    [found] = parse(b"I0203 04:05:06.250000 140 metric_logger.py:226] completed step: 7, loss: 3.5\n", {})
    assert of_evidence(found["metrics"]) == {"clock": 949550706.25}


def test_invalid_utf_8_does_no_harm() -> None:
    [found] = parse(b"\xff\xfe completed step: 7, \xc3\x28: 1, seconds: 2.000, \xff\n", {})
    assert found["metrics"] == {"step_time_ms": 2000.0}


def test_the_number_of_steps_is_that_of_the_configuration() -> None:
    memory: dict[str, Any] = {}
    text = b"completed step: 0, loss: 1.0\nI0317 09:59:16 1 pyconfig.py:413] Config param steps: 50\r\n"
    assert [found["steps_total"] for found in parse(text, memory)] == [None]
    assert json.loads(json.dumps(memory)) == memory
    assert [found["steps_total"] for found in parse(b"completed step: 1, loss: 1.0\n", memory)] == [50]


def test_a_number_of_steps_that_is_none_is_not_told() -> None:
    text = b"Config param steps: 50\nConfig param steps: -1\ncompleted step: 1, loss: 1.0\n"
    assert [found["steps_total"] for found in parse(text, {})] == [None]


def reasons_of(text: str, first_step: int = 0) -> list[int]:
    """Return which steps of a log are left out."""
    found = list(parse(text.encode(), {}))
    return [step["step"] for step in found if left_out(step, step["step"] - first_step + 1)]


def log_of(steps: range) -> str:
    return "".join(f"completed step: {step}, {PERF}, loss: 11.5\n" for step in steps)


def test_the_first_two_steps_of_an_attempt_are_left_out_with_the_reason() -> None:
    first, second, third = parse(log_of(range(3)).encode(), {})
    assert left_out(first, 1) == "MaxText compiles in the first step"
    assert "asynchronous dispatch" in (left_out(second, 2) or "")
    assert left_out(third, 3) is None
    assert reasons_of(log_of(range(500, 510)), first_step=500) == [500, 501]


PROFILER = (
    "Config param profiler: {}\nConfig param profiler_steps: 2\nConfig param skip_first_n_steps_for_profiler: 4\n"
)


def test_the_steps_that_the_profiler_disturbs_are_left_out() -> None:
    assert reasons_of(PROFILER.format("xplane") + log_of(range(12))) == [0, 1, 4, 5, 6, 7]
    assert reasons_of(PROFILER.format("xplane") + log_of(range(500, 512)), 500) == [500, 501, 504, 505, 506, 507]
    assert reasons_of(PROFILER.format("") + log_of(range(12))) == [0, 1]
    assert reasons_of("completed profiler activation/deactivation step: 7, loss: 11.5\n") == [7]


METRICS_LINE = {
    "evaluation/moe_lb_loss": 0.0,
    "learning/loss": 11.5,
    "learning/grad_norm": 1.5,
    "learning/current_learning_rate": 1e-5,
    "learning/total_weights": 196608.0,
    "perf/step_time_seconds": 5.25,
    "perf/per_device_tflops": 711.0,
    "perf/per_device_tflops_per_sec": 135.5,
    "perf/per_device_tokens_per_sec": 8687.5,
    "step": 7.0,
    "run_name": "llama",
}


def test_the_metrics_file_gives_its_steps() -> None:
    evaluation = {"eval/avg_loss": 9.5, "step": 7.0, "run_name": "llama"}
    text = "".join(
        f"{json.dumps(entry)}\n"
        for entry in (METRICS_LINE, evaluation, {**METRICS_LINE, "step": 8.0, "learning/loss": math.nan})
    )
    (seven, metrics), (eight, later) = steps_of(text)
    assert (seven, eight) == (7, 8)
    assert metrics == pytest.approx({**PERF_METRICS, "loss": 11.5, "grad_norm": 1.5, "learning_rate": 1e-5})
    assert math.isnan(later["loss"])


@pytest.mark.parametrize(
    "line",
    [
        json.dumps(METRICS_LINE)[:-30],
        '["perf/step_time_seconds"]',
        '{"perf/step_time_seconds": 1.0}',
        '{"perf/step_time_seconds": null, "step": 1}',
        '{"perf/step_time_seconds": 1.0, "step": NaN}',
        'noise "perf/step_time_seconds": 1.0, "step": 1}',
    ],
)
def test_what_is_no_whole_entry_of_a_metrics_file_is_left_out(line: str) -> None:
    assert steps_of(f"{line}\n") == []


TEST_LOGS = [
    ("20_maxtext_docs_v5p_10_steps_done.log", list(range(10))),
    ("22_maxtext_docs_real_dataset_total_weights.log", [1, 9, 8, 9]),
    ("24_maxtext_2026_absl_prefix_lm_loss.log", [1, 2, 3]),
    ("maxtext_cpu_2proc_hw_gpu_env_contract_node0.log", list(range(10))),
    ("maxtext_cpu_2proc_hw_gpu_env_contract_node1.log", list(range(10))),
]


@pytest.mark.parametrize(("name", "steps"), TEST_LOGS)
def test_whole_logs(name: str, steps: list[int], log_named: Callable[[str], Path]) -> None:
    found = list(parse(log_named(name).read_bytes(), {}))
    assert [step["step"] for step in found] == steps
    for step in found:
        assert set(of_metrics(step["metrics"])) == {"step_time_ms", "tflops_per_gpu", "tokens_per_sec_per_gpu", "loss"}
        assert 0 < step["metrics"]["loss"] < 20


def test_processes_of_a_node_that_share_a_log_some_steps_apart_are_one_run(tmp_path: Path) -> None:
    """Eight processes, each up to three steps behind the first one, print between each other."""
    lines = sorted((step + process * 3 / 8, process, step) for process in range(8) for step in range(12))
    told = [f"completed step: {step}, seconds: 1.{process}, loss: {12 - step}.0\n" for _at, process, step in lines]
    log = tmp_path / "train.log"
    log.write_text("".join(told), encoding="utf-8")
    rows = list(read_log(str(log), "maxtext", final=True)["rows"])
    assert [(row["attempt"], row["step"]) for row in rows] == [(1, step) for step in range(12)]
    assert {row["metrics"]["step_time_ms"] for row in rows} == {1000.0}
    log.write_text("".join(told).replace("step: 7, seconds: 1.5, loss: 5.0", "step: 7, seconds: 1.5, loss: nan"))
    values = [row["metrics"]["loss"] for row in read_log(str(log), "maxtext", final=True)["rows"]]
    assert any(map(math.isnan, values))


@pytest.mark.parametrize(
    ("fields", "strange"),
    [
        ("loss: 9.000, moe_lb_loss: nan", True),
        ("loss: 9.000, mtp_loss: inf", True),
        ("loss: nan", False),
        ("loss: 9.000, run: nancy", False),
    ],
)
def test_values_that_are_no_metrics_are_looked_at_for_nan(fields: str, strange: bool) -> None:
    [found] = parse(f"completed step: 7, {fields}\n".encode(), {})
    assert ("other_fields" in found["metrics"]) is strange


@pytest.mark.parametrize(("loss", "found"), [("nan", ["eval metrics after step: 7"]), ("9.123", [])])
def test_an_evaluation_that_is_nan_is_said_with_its_step(loss: str, found: list[str]) -> None:
    text = f"eval metrics after step: 7, loss={loss}, total_weights=1\n"
    arguments = add_arguments({}, GRAMMAR.arguments, Piece(text.encode()))
    assert arguments.get("evaluation_not_finite", []) == found


@pytest.mark.parametrize(
    ("fields", "loss"), [("loss: 9.000, loss: 9.000", 9.0), ("loss: 8.000, loss: 9.000", math.nan)]
)
def test_of_two_values_of_one_name_neither_counts_unless_they_are_the_same(fields: str, loss: float) -> None:
    [found] = parse(f"completed step: 7, {fields}\n".encode(), {})
    assert found["metrics"]["loss"] == pytest.approx(loss, nan_ok=True)
