# SPDX-License-Identifier: GPL-3.0-or-later
"""The grammar of NeMo 2's training log: the lines of its ProgressPrinter.

``nemo/lightning/pytorch/callbacks/progress_printer.py`` prints one each time that its log interval of an epoch divides,
on the first rank, with values of four significant digits::

    Training epoch 0, iteration 7/999 | lr: 6.897e-06 | global_batch_size: 512 | global_step: 7 |
      reduced_train_loss: 11.02 | train_step_timing in s: 47.12 | consumed_samples: 4096

No trainer of this collection prints them; `report.yml` reads logs that others bring.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterator

from ..find import Piece
from ..grammar import FIRST_RANK, Grammar
from ..pattern import later
from ..record import OTHER_FIELDS
from ..rows import FoundStep
from ..text import line_end

_WORD = b"Training epoch "
_HEAD = later(_WORD + rb"\d{1,9}, iteration \d{1,12}/\d{1,12} \|")
_NUMBER = later(rb"[-+]?(?:(?i:nan|inf(?:inity)?)|\d+\.?\d*(?:[eE][-+]?\d+)?)")
_WHOLE = later(rb"\d{1,12}")
_STEP, _SECONDS = b"global_step", b"train_step_timing in s"
_METRIC_OF_FIELD = {
    b"reduced_train_loss": "loss",
    b"grad_norm": "grad_norm",
    b"lr": "learning_rate",
    b"global_batch_size": "global_batch_size",
    b"consumed_samples": "consumed_samples",
    b"TFLOPS_per_GPU": "tflops_per_gpu",
}
_EVIDENCE = ("global_batch_size", "consumed_samples")
# Four digits of a larger number say too little to count with it.
_ROUNDED = {"consumed_samples"}


def parse(piece: Piece, memory: dict[str, t.Any]) -> Iterator[FoundStep]:
    """Yield the values of each line, in their order; see ``Grammar``.

    The step is ``global_step``, from 0 on over all epochs. ``steps_total`` is None: the other number of ``7/999``
    counts the steps of an epoch.
    """
    text, find = piece.text, piece.find
    start = find(_WORD, 0)
    while start >= 0:
        end = line_end(text, start)
        head = _HEAD.match(text, start, end)
        fields = _fields(text[head.end() : end], whole=end < len(text)) if head else {}
        step = fields.get(_STEP, b"")
        if _WHOLE.fullmatch(step):
            memory.pop("new_process", None)
            yield {"step": int(step), "steps_total": None, "metrics": _metrics(fields)}
        start = find(_WORD, end)


def _fields(line: bytes, *, whole: bool) -> dict[bytes, bytes]:
    """Return the fields of a line by their names; the last one counts only if the line is complete."""
    parts = line.split(b" | ")
    pairs = (part.partition(b":") for part in (parts if whole else parts[:-1]))
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def _metrics(fields: dict[bytes, bytes]) -> dict[str, float]:
    metrics = {}
    for name, metric in _METRIC_OF_FIELD.items():
        if name in fields and not (metric in _ROUNDED and b"e" in fields[name]):
            metrics[metric] = _number(fields[name])
    if _SECONDS in fields:
        metrics["step_time_ms"] = 1000.0 * _number(fields[_SECONDS])
    others = (value for name, value in fields.items() if name not in _METRIC_OF_FIELD and _NUMBER.fullmatch(value))
    if not all(math.isfinite(float(value)) for value in others):
        metrics[OTHER_FIELDS] = math.inf
    for metric in _EVIDENCE:
        if not math.isfinite(metrics.get(metric, 0.0)):
            metrics[metric] = math.inf
    return metrics


def _number(printed: bytes) -> float:
    return float(printed) if _NUMBER.fullmatch(printed) else math.nan


GRAMMAR = Grammar(
    parse,
    (),
    first_step=0,
    step_line="Training epoch E, iteration N/LENGTH | … | global_step: N | … | train_step_timing in s: …",
    printed_by=FIRST_RANK,
    # From NeMo's logger, on each node.
    alive=(b"[NeMo ",),
    # From Lightning, by rank 0.
    over=(b"`Trainer.fit` stopped",),
)
