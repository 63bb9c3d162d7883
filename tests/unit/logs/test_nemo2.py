from __future__ import annotations

import math
from typing import Any

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.known import GRAMMARS
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.nemo2 import parse

LINE = (
    "Training epoch 2, iteration 7/999 | lr: 6.897e-06 | global_batch_size: 512 | global_step: 45 "
    "| reduced_train_loss: 11.02 | train_step_timing in s: 47.12 | consumed_samples: 23552"
)


def steps_of(text: str) -> list[Any]:
    return list(parse(Piece(text.encode()), {}))


@pytest.mark.parametrize("before", ["", "(pretraining, pid=4112) ", "[rank0]:"])
def test_a_line_gives_its_step_and_its_metrics(before: str) -> None:
    [found] = steps_of(f"{before}{LINE}\n")
    assert (found["step"], found["steps_total"]) == (45, None)
    assert found["metrics"] == {
        "learning_rate": 6.897e-6,
        "global_batch_size": 512.0,
        "loss": 11.02,
        "step_time_ms": 47120.0,
        "consumed_samples": 23552.0,
    }


def test_rounded_samples_do_not_count_and_the_last_field_of_a_torn_line_does_not_either() -> None:
    [rounded, torn] = steps_of(f"{LINE.replace('23552', '2.355e+04')}\n{LINE[:-2]}")
    assert "consumed_samples" not in rounded["metrics"]
    assert "consumed_samples" not in torn["metrics"]


def test_a_step_longer_than_any_is_no_step_and_an_infinite_batch_is_infinite() -> None:
    assert steps_of(LINE.replace("global_step: 45", f"global_step: {'9' * 5000}") + "\n") == []
    [found] = steps_of(LINE.replace("global_batch_size: 512", "global_batch_size: nan") + "\n")
    assert found["metrics"]["global_batch_size"] == math.inf


def test_a_number_that_is_none_counts_as_such() -> None:
    [loss] = steps_of(LINE.replace("11.02", "nan") + "\n")
    [other] = steps_of(f"{LINE} | val_loss: inf\n")
    assert math.isnan(loss["metrics"]["loss"])
    assert other["metrics"]["other_fields"] == math.inf


@pytest.mark.parametrize("framework", [name for name in GRAMMARS if name != "nemo2"])
def test_no_other_grammar_reads_its_lines(framework: str) -> None:
    assert list(GRAMMARS[framework].parse(Piece(f"{LINE}\n".encode()), {})) == []


@pytest.mark.parametrize(
    "text", ["Training epoch 2, iteration 7/999", "Training epoch 2 | global_step: 4\n", "global_step: 4\n"]
)
def test_other_lines_are_no_steps(text: str) -> None:
    assert steps_of(text) == []
