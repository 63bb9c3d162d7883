# SPDX-License-Identifier: GPL-3.0-or-later
"""The grammar of Megatron Bridge's training log: Megatron-LM's iteration line, and a line with the rate before it.

``training_log()`` of src/megatron/bridge/training/utils/train_utils.py prints two lines for a step. The first comes
from rank 0 and has no step number; the second comes from the last rank::

    Step Time : 2.05s GPU utilization: 412.3MODEL_TFLOP/s/GPU
     [2026-08-24 10:00:07] iteration        3/      50 | consumed samples:          384 | … |

The second line has the rate as well if ``logger.log_throughput`` is set. Otherwise the step takes the rate of the first
line if one log contains both, as on a single node and in Slurm's output.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator

from ..find import Piece, Printed
from ..grammar import LAST_RANK
from ..pattern import later
from ..rows import FoundStep, FoundSteps
from ..text import line_start
from . import megatron, megatron_processes

_STEP_TIME = b"Step Time : "
_RATE = later(
    re.escape(_STEP_TIME) + rb"(\d{1,9}\.\d\d)s GPU utilization: (\d{1,9}\.\d|nan|inf)MODEL_TFLOP/s/GPU(?=\s)"
)
# The two lines show the same time, one of them with two digits after the point.
_MILLISECONDS_APART = 5.1
_LOOP, _DONE = b"Starting training loop at iteration ", b"[after training is done]"


def parse(piece: Piece, memory: dict[str, t.Any]) -> Iterator[FoundStep]:
    """Yield the steps of Megatron-LM's iteration lines, with the rate of the line before if they have none."""
    text = piece.text
    begins = [0, *(line_start(text, place) for place in piece.positions((_STEP_TIME,)))]
    if len(begins) == 1 and "rate" not in memory:
        yield from megatron_processes.parse(piece, memory)
        return
    for begin, end in zip(begins, [*begins[1:], len(text)]):
        part = text[begin:end]
        rate = _RATE.search(part)
        if rate:
            memory["rate"] = b" ".join(rate.groups()).decode()
        for found in megatron_processes.parse(Piece(part), memory):
            yield _with_rate(found, memory.pop("rate", None))


def _with_rate(found: FoundStep, rate: str | None) -> FoundStep:
    metrics = found["metrics"]
    if rate is None or "tflops_per_gpu" in metrics or "step_time_ms" not in metrics:
        return found
    seconds, tflops = map(float, rate.split())
    if abs(seconds * 1000.0 - metrics["step_time_ms"]) > _MILLISECONDS_APART:
        return found
    return t.cast("FoundStep", {**found, "metrics": {**metrics, "tflops_per_gpu": tflops}})


def parse_many(piece: Piece, memory: dict[str, t.Any]) -> Iterator[FoundSteps] | None:
    """Return the same, many steps at once, or None if rates have lines of their own or a process begins."""
    if "rate" in memory or piece.find(_STEP_TIME, 0) >= 0:
        return None
    return megatron_processes.parse_many(piece, memory)


GRAMMAR = megatron_processes.GRAMMAR._replace(
    parse=parse,
    parse_many=parse_many,
    step_line="iteration N/ TOTAL | … | elapsed time per iteration (ms): … after Step Time : …s GPU utilization: …",
    printed_by=LAST_RANK,
    settings=(
        *megatron.SETTINGS,
        # initialize.py, by rank 0.
        *(
            Printed(
                b"> initialized %b model parallel with size" % name,
                rb"> initialized %b model parallel with size (?P<%b>\d{1,7})(?=\s)" % (name, setting),
            )
            for name, setting in ((b"tensor", b"tensor_parallelism"), (b"pipeline", b"pipeline_parallelism"))
        ),
    ),
    # train.py, setup.py and pretrain.py, by rank 0; the memory by the first rank of each data-parallel group.
    under_way=(_LOOP, _STEP_TIME, _DONE, b" iterations) memory (GB) |"),
    first_rank=(_STEP_TIME, _DONE),
    ends=(b"[after dataloaders are built]", _DONE),
    over=(_DONE,),
    starts=tuple(Printed(text, re.escape(text)) for text in (_LOOP, b"-and-optimizer-setup")),
    only_here=(_STEP_TIME,),
)
