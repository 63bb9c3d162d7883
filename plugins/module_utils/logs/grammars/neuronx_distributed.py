# SPDX-License-Identifier: GPL-3.0-or-later
"""The grammar of the training log of NeuronX Distributed's own examples, which AWS's guides for Trainium run.

``training_utils.py`` and ``logger.py`` beside ``run_llama_nxd.py`` print each step, and some versions two fields more::

    step 66 step_time 5.98s throughput 113.8 seq/s loss 2.71 val-loss: None current_lr: 3.98e-06 grad norm 1.97

No trainer of this collection prints them; `report.yml` reads logs that others bring.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterator

from ..find import Piece
from ..grammar import LAST_RANK, Grammar
from ..pattern import later
from ..rows import FoundStep
from ..text import line_end
from .nxdt import WORLD_SIZE

_WORD = b" seq/s loss "
_NUMBER = rb"([-+]?(?:(?i:nan|inf(?:inity)?)|\d+\.?\d*(?:[eE][-+]?\d+)?))"
_STEP = later(rb"\bstep (\d{1,12}) step_time " + _NUMBER + rb"s throughput " + _NUMBER + rb" seq/s loss ")
# A number is complete once the text after it is there. The norm is None if the optimizer does not return one.
_WHOLE = _NUMBER + rb"(?=[ \t\r\n])"
_LOSS = later(_WORD + _WHOLE)
_FIELDS = {
    "learning_rate": later(rb" current_lr: " + _WHOLE),
    "grad_norm": later(rb" grad norm " + _WHOLE),
}


def parse(piece: Piece, memory: dict[str, t.Any]) -> Iterator[FoundStep]:
    """Yield the values of each line, in their order; see ``Grammar``.

    ``step_time_ms`` is the time of this step. ``sequences_per_sec`` is ``throughput``: sequences/s of the whole job, a
    mean over the last 10 steps. A loss without digits becomes NaN.
    """
    text, find = piece.text, piece.find
    end = 0
    start = find(_WORD, 0)
    while start >= 0:
        begin = max(text.rfind(b"\n", end, start), end)
        end = line_end(text, start)
        head = _STEP.search(text, begin, end)
        loss = _LOSS.match(text, start, end + 1)
        # The last line of a log may be cut off.
        if head and (loss or end < len(text)):
            memory.pop("new_process", None)
            body = text[start : end + 1]
            found = {metric: pattern.search(body) for metric, pattern in _FIELDS.items()}
            metrics = {metric: float(match.group(1)) for metric, match in found.items() if match}
            metrics["loss"] = float(loss.group(1)) if loss else math.nan
            metrics["step_time_ms"] = 1000.0 * float(head.group(2))
            rate = float(head.group(3))
            yield {
                "step": int(head.group(1)),
                "steps_total": None,
                "metrics": metrics,
                "sequences_per_sec": rate if math.isfinite(rate) else None,
            }
        start = find(_WORD, end)


GRAMMAR = Grammar(
    parse,
    WORLD_SIZE,
    first_step=1,
    step_line="step N step_time …s throughput … seq/s loss … grad norm …",
    # One rank of the whole job, in the last stage of the pipeline.
    printed_by=LAST_RANK,
    each_step=True,
    each_line=("step_time_ms", "loss"),
    # The compiler's wrapper, on each node as it trains.
    alive=(b"NEURON_CC_WRAPPER", b"Compiler status PASS"),
    # By each rank.
    over=(b"Training finished successfully",),
)
