from __future__ import annotations

import math
from typing import Any

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.known import GRAMMARS
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.neuronx_distributed import parse

HEAD = "step 7 step_time 244.75s throughput 3.9375 seq/s loss"
LINE = f"{HEAD} 13.4125 grad norm 1.96875\n"


def steps_of(text: str) -> list[Any]:
    return list(parse(Piece(text.encode()), {}))


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (LINE, {"loss": 13.4125, "grad_norm": 1.96875}),
        (f"12: {HEAD} 13.4125 grad norm None\r\n", {"loss": 13.4125}),
        (
            f"{HEAD} 2.5 val-loss: None current_lr: 3.98522e-06 grad norm 10.75\n",
            {"loss": 2.5, "learning_rate": 3.98522e-6, "grad_norm": 10.75},
        ),
    ],
)
def test_a_line_gives_its_step_and_its_metrics(line: str, values: dict[str, float]) -> None:
    [found] = steps_of(f"Epoch 0\n{line}Training finished successfully\n")
    assert (found["step"], found["steps_total"], found["sequences_per_sec"]) == (7, None, 3.9375)
    assert found["metrics"] == {"step_time_ms": 244750.0, **values}


def test_what_is_cut_off_does_not_count() -> None:
    [torn] = steps_of(LINE[:-3])
    assert torn["metrics"] == {"step_time_ms": 244750.0, "loss": 13.4125}
    assert steps_of(f"{HEAD} 13.4") == []


@pytest.mark.parametrize("loss", ["nan", "None"])
def test_a_loss_that_is_no_number_is_nan(loss: str) -> None:
    [found] = steps_of(f"{HEAD} {loss} grad norm nan\n")
    assert math.isnan(found["metrics"]["loss"])


@pytest.mark.parametrize("framework", [name for name in GRAMMARS if name != "neuronx_distributed"])
def test_no_other_grammar_reads_its_lines(framework: str) -> None:
    assert list(GRAMMARS[framework].parse(Piece(LINE.encode()), {})) == []


@pytest.mark.parametrize("text", [f"time{LINE[4:]}", "3.9 seq/s loss 13.4\n", LINE.replace("7", "9" * 5000)])
def test_other_lines_are_no_steps(text: str) -> None:
    assert steps_of(text) == []
