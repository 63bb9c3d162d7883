from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from row_values import of_evidence, of_metrics

from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.megatron import left_out
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.megatron import parse as steps_of_piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.megatron import (
    summary as summary_of_piece,
)

END = "number of skipped iterations:   0 | number of nan iterations:   0 |"
LOGS = Path(__file__).resolve().parents[2] / "data/logs"


def parse(text: bytes, memory: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return steps_of_piece(Piece(text), memory)


def summary(text: bytes) -> dict[str, float]:
    return summary_of_piece(Piece(text))


def metrics_of(line: str) -> dict[str, float]:
    [found] = parse(line.encode(), {})
    return of_metrics(found["metrics"])


TEST_VARIANTS = [
    (
        "core 0.4, no time stamp, no throughput",
        " iteration        2/      50 | consumed samples:           16 | elapsed time per iteration (ms): 1234.5 |"
        f" learning rate: 1.500E-04 | global batch size:     8 | lm loss: 1.012345E+01 | loss scale: 1.0 | {END}\n",
        {"step_time_ms": 1234.5, "learning_rate": 1.5e-4, "loss": 10.12345},
    ),
    (
        "ROCm fork",
        " [2026-01-02 03:04:05] iteration        2/      50 | consumed samples:          512 |"
        " elapsed time per iteration (ms): 10001.5 | mem usages: 0.7512 | throughput per GPU (TFLOP/s/GPU): 601.3 |"
        " learning rate: 9.900000E-05 | global batch size:   256 | lm loss: 7.100000E+00 | loss scale: 1.0 |"
        f" grad norm: 1.625 | {END}\n",
        {
            "step_time_ms": 10001.5,
            "memory_fraction": 0.7512,
            "tflops_per_gpu": 601.3,
            "learning_rate": 9.9e-5,
            "loss": 7.1,
            "grad_norm": 1.625,
        },
    ),
    (
        "core 0.6, time stamp and decoupled learning rate",
        " [2026-01-02 03:04:05] iteration        2/      50 | consumed samples:           16 |"
        " elapsed time per iteration (ms): 1234.5 | throughput per GPU (TFLOP/s/GPU): 301.5 |"
        " learning rate: 1.500000E-04 | decoupled learning rate: 7.000000E-01 | global batch size:     8 |"
        f" lm loss: 1.012345E+01 | loss scale: 1.0 | grad norm: 1.625 | {END}\n",
        {
            "step_time_ms": 1234.5,
            "tflops_per_gpu": 301.5,
            "learning_rate": 1.5e-4,
            "loss": 10.12345,
            "grad_norm": 1.625,
        },
    ),
    (
        "core 0.17, a loss of exactly zero is printed",
        " [2026-01-02 03:04:05.123456] iteration        2/      50 | elapsed time per iteration (ms): 1234.5 |"
        f" lm loss: 0.000000E+00 | loss scale: 1.0 | grad norm: 0.000 | {END}\n",
        {"step_time_ms": 1234.5, "loss": 0.0, "grad_norm": 0.0},
    ),
    (
        "ROCm fork of mid 2024, memory after the batch size",
        " [2026-01-02 03:04:05] iteration        2/      50 | consumed samples:          512 |"
        " elapsed time per iteration (ms): 10001.5 | throughput per GPU (TFLOP/s/GPU): 601.3 |"
        " learning rate: 9.900000E-05 | global batch size:   256 | mem usages: 0.7512 | lm loss: 7.100000E+00 |"
        f" loss scale: 1.0 | grad norm: 1.625 | {END}\n",
        {
            "step_time_ms": 10001.5,
            "memory_fraction": 0.7512,
            "tflops_per_gpu": 601.3,
            "learning_rate": 9.9e-5,
            "loss": 7.1,
            "grad_norm": 1.625,
        },
    ),
    (
        "ROCm fork of October 2024, no memory",
        " [2026-01-02 03:04:05] iteration        2/      50 | consumed samples:          512 |"
        " elapsed time per iteration (ms): 10001.5 | throughput per GPU (TFLOP/s/GPU): 601.3 |"
        f" lm loss: 7.100000E+00 | loss scale: 1.0 | grad norm: 1.625 | {END}\n",
        {"step_time_ms": 10001.5, "tflops_per_gpu": 601.3, "loss": 7.1, "grad_norm": 1.625},
    ),
    (
        "core 0.18, every optional field, other losses before and after the loss",
        " [2026-01-02 03:04:05.123456] iteration        2/      50 | consumed samples:          512 |"
        " skipped samples:            8 | elapsed time per iteration (ms): 500.0 |"
        " throughput per GPU (TFLOP/s/GPU): 1.0 | energy per GPU (J/iter/GPU): 9.0 | power per GPU (W/GPU): 8.0 |"
        " learning rate: 1.000000E-05 | decoupled learning rate: 7.000000E-01 | global batch size:   256 |"
        " mtp_1 loss: 6.000000E+00 | lm loss: 5.000000E+00 | seq_load_balancing_loss: 1.000001E+00 |"
        " sop loss: 2.000000E+00 | loss scale: 4.0 | grad norm: 3.000 | num zeros: 17 | params norm: 99.000 |"
        f" {END}\n",
        {"step_time_ms": 500.0, "tflops_per_gpu": 1.0, "learning_rate": 1e-5, "loss": 5.0, "grad_norm": 3.0},
    ),
    (
        "Primus 26.4: colours, instant/average, memory after the last bar",
        "[\x1b[32m20260102 03:04:05\x1b[0m][\x1b[36mrank-7/8\x1b[0m]\x1b[34m\x1b[1m[DEBUG]    \x1b[0m\x1b[1m"
        "[---------------utils.py:425] : [2026-01-02 03:04:05.123456] iteration        2/      50 |"
        " consumed samples:           24 | elapsed time per iteration (ms): 500.5/510.0 |"
        " throughput per GPU (TFLOP/s/GPU): 450.5/440.0  | tokens per GPU (tokens/s/GPU): 7000.5/6900.0 |"
        f" learning rate: 5.000000E-06 | lm loss: 1.100000E+01 | grad norm: 3.800 | {END}"
        " hip mem usage/free/total/usage_ratio: 169.87GB/118.11GB/287.98GB/58.99%  |"
        " rocm mem usage/free/total/usage_ratio: 169.29GB/118.69GB/287.98GB/58.79% |"
        " rank-3 rocm max mem usage/usage_ratio: 170.79GB/59.31%\x1b[0m\n",
        {
            "step_time_ms": 500.5,
            "tflops_per_gpu": 450.5,
            "tokens_per_sec_per_gpu": 7000.5,
            "learning_rate": 5e-6,
            "loss": 11.0,
            "grad_norm": 3.8,
            "memory_fraction": 0.5899,
        },
    ),
    (
        "Primus 26.5: other names, no ROCm memory",
        "iteration        2/      50 | elapsed time per iteration (ms): 500.5/510.0 |"
        " compute per GPU (TFLOP/s/GPU): 496.3 (avg 496.1)  | tokens/s/GPU inst/harmonic mean: 9640.7/9629.8 |"
        f" {END} hip mem usage/free/total/usage_ratio: 169.87GB/118.11GB/287.98GB/58.99%\x1b[0m\r\n",
        {
            "step_time_ms": 500.5,
            "tflops_per_gpu": 496.3,
            "tokens_per_sec_per_gpu": 9640.7,
            "memory_fraction": 0.5899,
        },
    ),
    (
        "older Primus: memory in GiB between the fields, only ROCm's numbers",
        "iteration        2/      50 | elapsed time per iteration (ms): 500.5/510.0 |"
        f" rocm mem usage/free/total/usage_ratio: 20.00GiB/60.00GiB/80.00GiB/25.00% | {END}\n",
        {"step_time_ms": 500.5, "memory_fraction": 0.25},
    ),
    (
        "token rate of another fork; mem usages goes before Primus' memory",
        "iteration        2/      50 | hip mem usage/free/total/usage_ratio: 1.00GB/3.00GB/4.00GB/25.00% |"
        f" mem usages: 0.5000 | Tokens per second per GPU (Tok/s/GPU): 123.5 | {END}\n",
        {"memory_fraction": 0.5, "tokens_per_sec_per_gpu": 123.5},
    ),
    *(
        (
            f"forks of 2026: {field}",
            "iteration        2/      50 | consumed samples:         2048 | consumed tokens: 8.389M |"
            f" elapsed time per iteration (ms): 130500.1 | eta: 1:44:24 | {field}: 8021.5 |"
            f" throughput per GPU (TFLOP/s/GPU): 412.5 | lm loss: 1.250000E+00 | {END}\n",
            {"step_time_ms": 130500.1, "tokens_per_sec_per_gpu": 8021.5, "tflops_per_gpu": 412.5, "loss": 1.25},
        )
        for field in ("tokens/sec/gpu", "tokens/sec/GPU")
    ),
]


@pytest.mark.parametrize(("line", "expected"), [case[1:] for case in TEST_VARIANTS], ids=[v[0] for v in TEST_VARIANTS])
def test_every_variant_of_the_line_gives_its_metrics(line: str, expected: dict[str, float]) -> None:
    [found] = parse(line.encode(), {})
    assert (found["step"], found["steps_total"]) == (2, 50)
    assert of_metrics(found["metrics"]) == pytest.approx({**expected, "skipped_iterations": 0.0, "nan_iterations": 0.0})


def test_kernel_time_does_not_displace_throughput() -> None:
    line = (
        "iteration 2/50 | compute per GPU (TFLOP/s/GPU): 900.0 (avg 900.0) | throughput per GPU (TFLOP/s/GPU): 300.0 |"
    )
    assert metrics_of(line) == {"tflops_per_gpu": 300.0}


def test_numbers_may_be_nan_or_infinite() -> None:
    found = metrics_of("iteration 2/50 | elapsed time per iteration (ms): inf | grad norm: nan | lm loss: -inf |")
    assert found["step_time_ms"] == math.inf
    assert math.isnan(found["grad_norm"])
    assert found["loss"] == -math.inf


def test_a_text_in_the_place_of_a_number_is_none_and_not_absent() -> None:
    found = metrics_of("iteration 2/50 | elapsed time per iteration (ms): 10.5x | grad norm: None | lm loss: |")
    assert found.keys() == {"step_time_ms", "grad_norm", "loss"}
    assert all(map(math.isnan, found.values()))


@pytest.mark.parametrize("value", ["INF", "NAN", "NaN", "-Inf", "Infinity", '"inf"', "1e999"])
def test_no_spelling_of_what_is_not_finite_is_lost(value: str) -> None:
    assert not math.isfinite(metrics_of(f"iteration 2/50 | lm loss: {value} |")["loss"])


def test_a_line_tells_its_time_and_the_sizes_of_its_run() -> None:
    line = (
        " [2026-02-03 04:05:06{}] iteration        2/      50 | consumed samples:          256 | grad norm: 1.5 |"
        " global batch size:   128 | loss scale: 65536.0 |"
    )
    sizes = {"consumed_samples": 256.0, "global_batch_size": 128.0, "loss_scale": 65536.0}
    for fraction, clock in (("", 1770091506.0), (".250000", 1770091506.25)):
        [found] = parse(line.format(fraction).encode(), {})
        assert of_evidence(found["metrics"]) == {**sizes, "clock": clock}
    [found] = parse(line.format("").replace("256", "NaN").replace("04:05", "24:65").encode(), {})
    assert of_evidence(found["metrics"]) == {**sizes, "consumed_samples": math.inf}


def test_only_the_whole_fields_of_a_torn_line_count() -> None:
    found = metrics_of(
        "iteration 2/50 | elapsed time per iteration (ms): 500.5 | learning rate: 1.0E-05 | lm loss: 7.2"
    )
    assert found == {"step_time_ms": 500.5, "learning_rate": 1e-5}


def test_a_torn_memory_ratio_is_left_out() -> None:
    assert metrics_of("iteration 2/50 | hip mem usage/free/total/usage_ratio: 1.00GB/3.00GB/4.00GB/25.0") == {}


def test_a_torn_head_is_no_line() -> None:
    assert list(parse(b" iteration        2/      5\n iteration       \n", {})) == []


def test_lines_glued_to_others_are_found() -> None:
    text = b"epoch 3: 50%|###  | 1/2iteration 2/50 | grad norm: 1.5 | lm l iteration 3/50 | grad norm: 2.5 |\rnoise\n"
    assert [(found["step"], found["metrics"]) for found in parse(text, {})] == [
        (2, {"grad_norm": 1.5}),
        (3, {"grad_norm": 2.5}),
    ]


def test_invalid_utf_8_does_no_harm() -> None:
    [found] = parse(b"\xff\xfe\x80 iteration 2/50 | \xc3\x28: 1 | grad norm: 1.5 |\n\xff", {})
    assert found["metrics"] == {"grad_norm": 1.5}


@pytest.mark.parametrize(
    "text",
    [
        " validation loss at iteration 10 | lm loss value: 7.0E+00 | lm loss PPL: 1.0E+03 | \n",
        "[Rank 0] (after 1 iterations) memory (MB) | allocated: 496.6 | max allocated: 496.6 |\n",
        "  exit_interval ................................... 10/20\n",
        "[exiting program at iteration 10] datetime: 2026-01-02 03:04:05\n",
    ],
)
def test_other_lines_with_the_word_iteration_are_no_steps(text: str) -> None:
    assert list(parse(text.encode(), {})) == []


TEST_MISSING_LOSS = [
    ("NaN gradients tell of it", f"learning rate: 1.0E-05 | loss scale: 1.0 | grad norm: nan | {END}", True),
    ("also without learning rate", f"loss scale: 1.0 | grad norm: nan | {END}", True),
    ("also beside another loss", f"learning rate: 1.0E-05 | mtp_1 loss: 2.0E+00 | grad norm: nan | {END}", True),
    ("no clipping, so no gradient norm", f"learning rate: 1.0E-05 | loss scale: 1.0 | {END}", True),
    ("no clipping, a model with another loss", f"learning rate: 1.0E-05 | sop loss: 2.0E+00 | {END}", False),
    ("zero loss: all tokens masked", f"learning rate: 1.0E-05 | loss scale: 1.0 | grad norm: 0.000 | {END}", False),
    (
        "skipped: the loss scale is being found",
        "learning rate: 1.0E-05 | loss scale: 65536.0 | number of skipped iterations:   1 |"
        " number of nan iterations:   1 |",
        False,
    ),
    ("torn", "learning rate: 1.0E-05 | loss scale: 1.0 | grad norm: nan |", False),
    ("not a training line", END, False),
]


@pytest.mark.parametrize(
    ("fields", "lost"), [case[1:] for case in TEST_MISSING_LOSS], ids=[case[0] for case in TEST_MISSING_LOSS]
)
def test_a_loss_that_was_not_printed_is_nan_only_where_nothing_else_explains_it(fields: str, lost: bool) -> None:
    loss = metrics_of(f" iteration 2/50 | consumed samples: 16 | {fields}\n").get("loss")
    assert (loss is not None and math.isnan(loss)) == lost


@pytest.mark.parametrize(
    ("prefix", "reason"),
    [
        (" [2026-01-02 03:04:05.123456]", "mean of the first two"),
        (
            "[32m20260102 03:04:05][rank-7/8][DEBUG] [utils.py:425] : [2026-01-02 03:04:05.123456]",
            "mean of the first two",
        ),
        (" [2026-01-02 03:04:05]", None),
        ("", None),
        (".", None),
    ],
)
def test_the_second_value_of_core_016_is_left_out(prefix: str, reason: str | None) -> None:
    found = list(parse("".join(f"{prefix} iteration {step}/50 | {END}\n" for step in (1, 2, 3)).encode(), {}))
    assert [left_out(step, position) for position, step in enumerate(found, 1)][::2] == [None, None]
    told = left_out(found[1], 2)
    assert told is None if reason is None else reason in str(told)


TEST_ODD_LINES = [
    ("glued to the next one behind its head", " iteration 2/50 | iteration 3/50 | lm loss: 1.5 | grad norm: 2.5 |"),
    ("glued to the next one in a value", " iteration 2/50 | lm loss: 1. iteration 3/50 | grad norm: 2.5 |"),
    ("torn", " iteration 2/50 | lm loss: 1.5 | grad nor"),
    ("torn in a number", " iteration 2/50 | lm loss: 1.5 | grad norm: 2."),
    ("a field more", " iteration 2/50 | lm loss: 1.5 | grad norm: 2.5 | num zeros: 3 |"),
    ("a field less", " iteration 2/50 | lm loss: 1.5 |"),
    ("no number", " iteration 2/50 | lm loss: 1.5 | grad norm: None |"),
    ("NaN", " iteration 2/50 | lm loss: nan | grad norm: nan |"),
    ("no other iteration line", " iteration 2/50 | grad norm: 2.5 | lm loss: nan | loss scale: 1.0 |"),
    ("a head behind a progress bar", " 50%|## iteration 2\r iteration 2/50 | lm loss: 1.5 | grad norm: 2.5 |"),
    ("digits in a name", " iteration 2/50 | lm lo1ss: 1.5 | grad norm: 2.5 |"),
    ("digits in a name and none behind it", " iteration 2/50 | lm loss: 7.5 | grad 8norm: .5 |"),
    ("two numbers", " iteration 2/50 | lm loss: 1 5 | grad norm: 2.5 |"),
    ("no digit before the point", " iteration 2/50 | lm loss: .55 | grad norm: 2.5 |"),
    ("carriage return between", " iteration 2/50 | lm loss: 1.5 |\r grad norm: 2.5 |"),
    ("carriage return in a value", " iteration 2/50 | lm loss: 1.5\r | grad norm: 2.5 |"),
    ("another order", " iteration 2/50 | grad norm: 2.5 | lm loss: 1.5 |"),
    (
        "Primus",
        " iteration 2/50 | lm loss: 1.5/1.7 | grad norm: 2.5 | hip mem usage/free/total/usage_ratio: 1/2/3/50.0%",
    ),
    ("twice the same field", " iteration 2/50 | lm loss: 1.5 | lm loss: 2.5 |"),
    ("a text behind the last bar", " iteration 2/50 | lm loss: 1.5 | grad norm: 2.5 | and so on"),
]


@pytest.mark.parametrize("line", [case[1] for case in TEST_ODD_LINES], ids=[case[0] for case in TEST_ODD_LINES])
def test_a_line_is_read_alike_alone_and_among_others(line: str) -> None:
    usual = " iteration 1/50 | lm loss: 7.5 | grad norm: 8.5 |\n"
    [first, *alone] = parse(f"{usual}noise\n".encode(), {})
    assert alone == []
    expected = [(found["step"], repr(found["metrics"])) for found in parse(f"{line}\n".encode(), {})]
    among = [(found["step"], repr(found["metrics"])) for found in parse(f"{usual}{line}\n{usual}".encode(), {})]
    assert among == [(1, repr(first["metrics"])), *expected, (1, repr(first["metrics"]))]


TEST_NO_NUMBERS = ["1 5", " .5", "-.5", "1.5.", "1,5", "1_5", "0x15", "1.5/", "1.5/x", "1E", "+", "infinity", "NaN"]


@pytest.mark.parametrize("value", TEST_NO_NUMBERS)
def test_what_python_takes_for_a_number_and_what_is_near_it_is_no_finite_one(value: str) -> None:
    found = metrics_of(f"iteration 2/50 | grad norm: {value} | lm loss: 1.5 |")
    assert (found["loss"], math.isfinite(found["grad_norm"])) == (1.5, False)


def test_the_reason_for_a_lost_loss_is_looked_for_in_each_line_of_a_layout() -> None:
    line = " iteration {}/50 | grad norm: nan | number of skipped iterations:   {} | number of nan iterations:   {} |\n"
    text = "".join(line.format(step, skipped, skipped) for step, skipped in ((1, 0), (2, 1), (3, 0)))
    assert ["loss" in found["metrics"] for found in parse(text.encode(), {})] == [True, False, True]


def test_steps_are_found_where_a_log_has_no_line_ends() -> None:
    text = "".join(f" iteration {step}/500 | grad norm: {step}.5 |" for step in range(1, 501))
    assert [(found["step"], found["metrics"]["grad_norm"]) for found in parse((text * 2).encode(), {})] == [
        (step, step + 0.5) for step in [*range(1, 501)] * 2
    ]


def test_summary_takes_the_closing_lines() -> None:
    text = (
        b" iteration 50/50 | mem usages: 0.1111 | throughput per GPU (TFLOP/s/GPU): 1.0 |\n\n"
        b"throughput per GPU: 589.5\nelapsed time per iteration: 10250.25\r\ntokens/GPU/s: 12786.125\nmem usages: 0.75"
    )
    assert summary(text) == {
        "tflops_per_gpu": 589.5,
        "step_time_ms": 10250.25,
        "tokens_per_sec_per_gpu": 12786.125,
        "memory_fraction": 0.75,
    }


def test_summary_of_the_deepseek_script_has_no_throughput() -> None:
    assert summary(b"elapsed time per iteration: 900.5\ntokens/GPU/s: 1250.5\nmem usages: 0.75\n") == {
        "step_time_ms": 900.5,
        "tokens_per_sec_per_gpu": 1250.5,
        "memory_fraction": 0.75,
    }


def test_summary_of_too_few_iterations() -> None:
    found = summary(b"throughput per GPU: nan\nelapsed time per iteration: nan\ntokens/GPU/s: \nmem usages:\n")
    assert sorted(found) == ["step_time_ms", "tflops_per_gpu"]
    assert all(math.isnan(value) for value in found.values())


def test_summary_is_not_taken_from_a_torn_iteration_line() -> None:
    assert summary(b" iteration 2/50 | mem usages: 0.5\n") == {}
    assert summary(b"mem usages: 0.5\n iteration 2/50 mem usages: 0.6\n") == {"memory_fraction": 0.5}


def test_closing_lines_in_front_of_a_step_are_those_of_an_earlier_training() -> None:
    text = b"mem usages: 0.5\ntokens/GPU/s: 9\n iteration 1/50 | lm loss: 2 |\nsaved at iteration 1 to /x\n"
    assert summary(text) == {}
    assert summary(text + b"mem usages: 0.6\nlast iteration 1\n") == {"memory_fraction": 0.6}


def test_closing_lines_may_follow_a_progress_bar() -> None:
    assert summary(b"50%|##\rmem usages: 0.5\nmem usages: 0.6\n90%|##\rmem usages: 0.7\n") == {"memory_fraction": 0.7}


def test_the_last_closing_lines_count() -> None:
    assert summary(b"mem usages: 0.5\nmem usages: 0.6\n") == {"memory_fraction": 0.6}


TEST_LOGS = [
    ("01_megatron_rocm_llama2_7b_fp8_summary_tail.log", [50], 50),
    ("10_megatron_primus_mi355x_10of10_done.log", list(range(1, 11)), 10),
    ("megatron_cpu_rocm_pretrain_gpt_2nodes_node0.log", [], None),
    ("megatron_cpu_rocm_pretrain_gpt_2nodes_node1.log", list(range(1, 21)), 20),
]


@pytest.mark.parametrize(("name", "steps", "total"), TEST_LOGS)
def test_whole_logs(name: str, steps: list[int], total: int | None, log_named: Callable[[str], Path]) -> None:
    rows = list(parse(log_named(name).read_bytes(), {}))
    assert [row["step"] for row in rows] == steps
    assert {row["steps_total"] for row in rows} == ({total} if total else set())
    for row in rows:
        assert {"step_time_ms", "tflops_per_gpu", "loss", "grad_norm", "learning_rate"} <= set(row["metrics"])
        assert 0 < row["metrics"]["loss"] < 20


def test_a_whole_log_with_doubled_lines() -> None:
    rows = list(parse((LOGS / "12_megatron_primus_iteration_lines_twice.log").read_bytes(), {}))
    assert len(rows) == 40
    assert {row["step"] for row in rows} == set(range(1, 21))
    assert rows[-1]["metrics"]["memory_fraction"] == pytest.approx(0.7125)


def test_a_whole_log_with_closing_lines() -> None:
    assert summary((LOGS / "01_megatron_rocm_llama2_7b_fp8_summary_tail.log").read_bytes()) == {
        "tflops_per_gpu": 611.25,
        "step_time_ms": 8125.5,
        "tokens_per_sec_per_gpu": 8065.469202,
        "memory_fraction": 0.6125,
    }


@pytest.mark.parametrize(
    ("fields", "strange"),
    [
        ("lm loss: 9.0 | z_loss: nan |", True),
        ("lm loss: 9.0 | update norm: -INF |", True),
        ("lm loss: nan | lm loss: 9.0 |", True),
        ("elapsed time per iteration (ms): 500.1/nan |", True),
        ("lm loss: nan |", False),
        ("number of nan iterations:   0 |", False),
        ("lm loss: 9.0 | z_loss: na", False),
        ("lm loss: 9.0 | run: nan-hunt | host: info |", False),
    ],
)
def test_values_that_are_no_metrics_are_looked_at_for_nan(fields: str, strange: bool) -> None:
    [found] = parse(f"iteration 2/50 | {fields}\n".encode(), {})
    assert ("other_fields" in found["metrics"]) is strange


def test_a_field_that_stands_there_twice_has_no_value() -> None:
    line = " iteration 2/ 5 | elapsed time per iteration (ms): 9.0 | lm loss: 1.0 | lm loss: 2.0 | loss scale: 1.0 |\n"
    assert metrics_of(line)["step_time_ms"] == 9.0
    assert math.isnan(metrics_of(line)["loss"])
