from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from row_values import of_metrics

from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.nxdt import parse as steps_of_piece

FIELDS = "v_num=5, reduced_train_loss=11.80, lr=7.5e-9, parameter_norm=1.95e+3, global_step=2.000"


def parse(text: bytes, memory: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return steps_of_piece(Piece(text), memory)


def bar(step: int, fields: str = FIELDS, rate: str = "60.00s/it", epoch: int = 0, end: str = "]") -> str:
    return f"Epoch {epoch}:   3%|▎         | {step}/91 [03:00<88:00, {rate}, {fields}{end}"


def steps_of(text: str) -> list[tuple[int, dict[str, float]]]:
    return [(found["step"], of_metrics(found["metrics"])) for found in parse(text.encode(), {})]


def test_a_bar_gives_its_step_and_its_metrics() -> None:
    [found] = parse(f"{bar(3)}\n".encode(), {})
    assert found == {
        "step": 3,
        "steps_total": None,
        "metrics": {"step_time_ms": 60000.0, "loss": 11.8, "learning_rate": 7.5e-9, "clock": 180.0, "updates": 2.0},
        "sequences_per_sec": None,
    }


def test_throughput_is_in_sequences_and_its_peak_is_another_field() -> None:
    text = bar(3, f"{FIELDS}, throughput_peak=0.0677, throughput=0.108, gradient_norm=8.600", rate=" 0.02it/s")
    [found] = parse(text.encode(), {})
    assert found["sequences_per_sec"] == 0.108
    assert found["metrics"]["grad_norm"] == 8.6
    assert found["metrics"]["step_time_ms"] == pytest.approx(50000.0)


def test_a_bar_of_nemo_without_a_mean_has_the_time_of_its_last_step() -> None:
    text = (
        "Epoch 0: :  40%|####      | 20/50 [09:21<14:01, reduced_train_loss=1.860, global_step=19.00, "
        "consumed_samples=20480.0, train_step_timing in s=24.10]"
    )
    [found] = parse(text.encode(), {})
    assert found["step"] == 20
    assert found["metrics"] == {"step_time_ms": 24100.0, "loss": 1.86, "consumed_samples": 20480.0, "updates": 19.0}
    [found] = parse(bar(3, f"{FIELDS}, train_step_timing in s=3.370").encode(), {})
    assert (found["metrics"]["step_time_ms"], found["metrics"]["clock"]) == (60000.0, 180.0)


@pytest.mark.parametrize("between", ["\r", "\n", "", "\x1b[A\r", "noise "])
def test_bars_may_be_divided_by_anything(between: str) -> None:
    text = between.join([bar(0, rate="?it/s"), bar(1), bar(1), bar(2)]) + "\n"
    assert [step for step, _ in steps_of(text)] == [1, 1, 2]
    assert all(metrics["loss"] == 11.8 for _, metrics in steps_of(text))


def test_only_the_whole_fields_of_a_bar_count() -> None:
    text = bar(3, "v_num=5, reduced_train_loss=11.80, lr=7.5", end="") + bar(4, "v_num=5, lr=7.5e-9, loss=1.1", end="")
    assert [set(metrics) for _, metrics in steps_of(text)] == [
        {"step_time_ms", "loss"},
        {"step_time_ms", "learning_rate"},
    ]
    assert steps_of("Epoch 0:   3%|▎         | 3/91 [03:00<88:00, 60.00s") == [(3, {})]
    assert steps_of("Epoch 0:   3%|▎         | 3/9") == []


def test_lightnings_own_loss_is_not_the_loss_and_nan_is_kept() -> None:
    [(_, metrics)] = steps_of(bar(3, "loss=nan, v_num=5, reduced_train_loss=nan, lr=0.1"))
    assert math.isnan(metrics["loss"])
    [(_, metrics)] = steps_of(bar(3, "v_num=5, reduced_train_loss=oops, lr=0.1"))
    assert math.isnan(metrics["loss"])
    [(_, metrics)] = steps_of(bar(3, "loss=nan, v_num=5, lr=0.1"))
    assert "loss" not in metrics


@pytest.mark.parametrize(
    "text",
    [
        "Validation DataLoader 0:  50%|█████     | 3/6 [00:01<00:01,  2.50it/s]",
        "Sanity Checking DataLoader 0: 100%|██████████| 2/2 [00:00<00:00,  3.10it/s]",
        "Downloading shards: 100%|██████████| 3/3 [00:01<00:00,  2.0it/s]",
        "Epoch 0, global step 3: 'reduced_train_loss' was not in top 1",
    ],
)
def test_other_bars_are_no_steps(text: str) -> None:
    assert steps_of(f"{text}\r{text}\n") == []


def test_the_steps_of_a_later_epoch_go_on() -> None:
    found = list(parse((bar(91) + "\r" + bar(1, epoch=1)).encode(), {}))
    assert [step["step"] for step in found] == [91, 92]


def test_the_length_of_an_epoch_is_not_taken_for_that_of_the_training() -> None:
    assert [step["steps_total"] for step in parse(bar(3).encode(), {})] == [None]


def test_invalid_utf_8_does_no_harm() -> None:
    [found] = parse(b"\xff\xfeEpoch 0:   3%|\xe2\x96\xff| 3/91 [03:00<88:00, 2.00it/s, \xff=1, lr=0.5]", {})
    assert of_metrics(found["metrics"]) == {"step_time_ms": 500.0, "learning_rate": 0.5}


TEST_LOGS = [
    ("30_nxdt_llama3_70b_progress.log", [3, 3, 4, 4], None),
    ("31_nxdt_llama3_8b_dpo_throughput.log", [3, 4, 5], [0.108, 0.181, 0.181]),
]


@pytest.mark.parametrize(("name", "steps", "throughput"), TEST_LOGS)
def test_whole_logs(
    name: str, steps: list[int], throughput: list[float] | None, log_named: Callable[[str], Path]
) -> None:
    found = list(parse(log_named(name).read_bytes(), {}))
    assert [step["step"] for step in found] == steps
    assert [step["sequences_per_sec"] for step in found] == (throughput or [None] * len(steps))
    for step in found:
        assert 6 < step["metrics"]["loss"] < 14
        assert step["metrics"]["step_time_ms"] > 1000


@pytest.mark.parametrize(
    ("field", "strange"), [("val_loss=nan", True), ("parameter_norm=inf", True), ("loss=nan", False)]
)
def test_values_that_are_no_metrics_are_looked_at_for_nan(field: str, strange: bool) -> None:
    [found] = parse(f"{bar(3, f'{FIELDS}, {field}')}\n".encode(), {})
    assert ("other_fields" in found["metrics"]) is strange


@pytest.mark.parametrize(("printed", "samples"), [("25600.0", 25600.0), ("2.54e+8", None)])
def test_samples_that_are_rounded_to_three_digits_do_not_count(printed: str, samples: float | None) -> None:
    [found] = parse(bar(3, f"{FIELDS}, consumed_samples={printed}").encode(), {})
    assert found["metrics"].get("consumed_samples") == samples
