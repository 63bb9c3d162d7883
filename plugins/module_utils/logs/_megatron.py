# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The grammar of Megatron-LM's training log.

The iteration line is printed by ``training_log()`` of megatron/training/training.py, by the last global rank only. Its
fields stand between ``|`` and came and went from core 0.4 to 0.18; ROCm's fork adds ``mem usages``, and Primus adds
running averages, token rates and memory. So a line is found by its head, ``iteration  N/  TOTAL |``, wherever in a line
that stands, and its fields are taken by name, in any order. The closing lines are those that the ROCm fork's
examples/*/train_*.sh append to the log.
"""

from __future__ import annotations

import math
import re
import typing as t
from functools import lru_cache

from ansible_collections.trainops.cluster.plugins.module_utils.logs._text import line_end

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ansible_collections.trainops.cluster.plugins.module_utils.logs._find import Piece

_WORD = b"iteration "
_POINT = ord(".")
_HEAD = re.compile(_WORD + rb"[ \t]*(\d+)[ \t]*/[ \t]*(\d+)[ \t]*\|")

_NUMBER = rb"[-+]?(?:nan|inf|\d+\.?\d*(?:[eE][-+]?\d+)?)"
# A value may be followed by its running average: "587.1/512.3", "496.3 (avg 496.1)".
_VALUE = re.compile(rb"(" + _NUMBER + rb")(?:/" + _NUMBER + rb"|[ \t]+\(avg " + _NUMBER + rb"\))?")
_USAGE_RATIO = re.compile(rb".*/(\d+\.?\d*)%")

# Where two fields of a line give one metric, the first of them here counts.
_METRIC_OF_FIELD = {
    b"elapsed time per iteration (ms)": "step_time_ms",
    b"mem usages": "memory_fraction",
    b"throughput per GPU (TFLOP/s/GPU)": "tflops_per_gpu",
    b"compute per GPU (TFLOP/s/GPU)": "tflops_per_gpu",
    b"tokens per GPU (tokens/s/GPU)": "tokens_per_sec_per_gpu",
    b"tokens/s/GPU inst/harmonic mean": "tokens_per_sec_per_gpu",
    b"Tokens per second per GPU (Tok/s/GPU)": "tokens_per_sec_per_gpu",
    b"learning rate": "learning_rate",
    b"lm loss": "loss",
    b"grad norm": "grad_norm",
    b"number of skipped iterations": "skipped_iterations",
    b"number of nan iterations": "nan_iterations",
}
_USAGE_RATIO_FIELDS = (b"hip mem usage/free/total/usage_ratio", b"rocm mem usage/free/total/usage_ratio")

# The closing lines. They count at the start of a line only, as iteration lines have "mem usages:", too.
_CLOSING_LINES = (
    (b"throughput per GPU:", "tflops_per_gpu"),
    (b"elapsed time per iteration:", "step_time_ms"),
    (b"tokens/GPU/s:", "tokens_per_sec_per_gpu"),
    (b"mem usages:", "memory_fraction"),
)
_CLOSING_VALUE = re.compile(rb"[ \t]*(" + _NUMBER + rb")[ \t]*(?:[\r\n]|\Z)")


# arguments.py: "using world size: 16, data-parallel size: 2, ...", by rank 0 only.
WORLD_SIZE = (b"using world size: ",)


def parse(piece: Piece, _memory: dict[str, t.Any]) -> Iterator[dict[str, t.Any]]:
    """Yield what each iteration line says, in their order; see ``Grammar``.

    Units are those of ``METRICS``; of an instant value and its running average the instant one is taken. The bytes
    need not be valid UTF-8. A field counts only when its closing ``|`` is there, so a line that was torn apart gives
    what is whole of it. Lines that stand there twice are yielded twice.

    ``loss`` is ``lm loss`` and no other loss. Megatron prints it only where it is greater than zero (since core 0.17:
    not less), which NaN never is, so a NaN loss shows as a field that is not there: see ``_lost_loss``.
    """
    text, find = piece.text, piece.find
    # Nearly all lines of a log have the same fields, so the layout of the last line is tried first.
    layout: _Layout | None = None
    start = find(_WORD, 0)
    while start >= 0:
        line = _by_layout(layout, text, start) if layout else None
        if not line:
            line, layout = _by_name(text, start) or (None, layout)
        if line:
            step, steps_total, metrics, _end = line
            # From core 0.16 on the time stamp has microseconds: "[2026-01-02 03:04:05.123456] iteration".
            summed = start > 8 and text[start - 9] == _POINT
            yield {"step": step, "steps_total": steps_total, "metrics": metrics, "first_is_summed": summed}
        start = find(_WORD, line[3] if line else start + len(_WORD))


def left_out(found: dict[str, t.Any], position: int) -> str | None:
    """Return why a step does not count, or None; see ``Grammar``.

    From core 0.16 on ``training_log()`` prints the first iteration without resetting its timer and its sums.
    """
    if position == 2 and found["first_is_summed"]:
        return "Megatron core 0.16 and later print the mean of the first two iterations here"
    return None


def summary(piece: Piece) -> dict[str, float]:
    """Return the means of the closing lines: canonical metric -> value, which may be NaN.

    The scripts leave out the first two iterations and the last one. Where a line stands there more than once the last
    one counts; a line without a number is left out.
    """
    text = piece.text
    line_ends = (b"\n", b"\r") if b"\r" in text else (b"\n",)
    found = {}
    for label, metric in _CLOSING_LINES:
        # A piece of a log begins where a line begins.
        starts = [0] if text.startswith(label) else []
        starts += [start + 1 for start in piece.positions(end + label for end in line_ends)]
        for start in starts:
            value = _CLOSING_VALUE.match(text, start + len(label))
            if value:
                found[metric] = float(value.group(1))
    return found


class _Layout(t.NamedTuple):
    """The fields of an iteration line: a pattern from the head to the end of the line, and what its groups 3.. are."""

    pattern: re.Pattern[bytes]
    metrics: tuple[str, ...]


# Step, total, metrics, and where in the text the line ends.
_Line = t.Tuple[int, int, t.Dict[str, float], int]


def _by_layout(layout: _Layout, text: bytes, start: int) -> _Line | None:
    line = layout.pattern.match(text, start)
    if not line:
        return None
    step, total, *values = line.groups()
    try:
        metrics = dict(zip(layout.metrics, map(float, values)))  # noqa: B905 # Python 3.8 has no strict
    except ValueError:
        return None
    return int(step), int(total), metrics, line.end()


def _by_name(text: bytes, start: int) -> tuple[_Line, _Layout | None] | None:
    """Return what the line says whose head is at the start, and the layout of lines like it; None where is no head."""
    head = _HEAD.match(text, start)
    if not head:
        return None
    end = line_end(text, head.end())
    glued = _HEAD.search(text, head.end(), end)
    if glued:
        end = glued.start()
    *closed, rest = text[head.end() : end].split(b"|")
    layout = None if rest.strip() else _layout(tuple(piece[: piece.find(b":") + 1] for piece in closed))
    return (int(head.group(1)), int(head.group(2)), _metrics(closed, rest), end), layout


@lru_cache(maxsize=32)
def _layout(names: tuple[bytes, ...]) -> _Layout | None:
    """Return the layout of a line with these fields, each ``b" name:"``, or None where ``_metrics`` has to read it.

    A layout must not read a line otherwise than ``_metrics`` does. So it has ``lm loss``, which is not lost then, no
    metric twice, and no letters but E in fields that are no metric, in which the head of a glued line could hide.
    """
    known = []
    pattern = _HEAD.pattern
    for name in names:
        metric = _METRIC_OF_FIELD.get(name[:-1].strip())
        if metric:
            known.append(metric)
        pattern += re.escape(name) + (rb"([^|\r\n]*)\|" if metric else rb"[^|\r\na-z]*\|")
    order = list(_METRIC_OF_FIELD.values())
    if "loss" not in known or len(set(known)) < len(known) or known != sorted(known, key=order.index):
        return None
    return _Layout(re.compile(pattern + rb"[ \t]*(?=[\r\n]|\Z)"), tuple(known))


def _metrics(closed: list[bytes], rest: bytes) -> dict[str, float]:
    fields = dict(_field(piece) for piece in closed)
    metrics: dict[str, float] = {}
    for name, metric in _METRIC_OF_FIELD.items():
        value = _VALUE.fullmatch(fields.get(name, b""))
        if value:
            metrics.setdefault(metric, float(value.group(1)))
    # Primus ends its lines with these and without a bar, but the percent sign shows that the number is whole.
    usage = dict([*fields.items(), _field(rest)])
    for name in _USAGE_RATIO_FIELDS:
        ratio = _USAGE_RATIO.fullmatch(usage.get(name, b""))
        if ratio:
            metrics.setdefault("memory_fraction", float(ratio.group(1)) / 100.0)
    if _lost_loss(fields, metrics):
        metrics["loss"] = math.nan
    return metrics


def _field(piece: bytes) -> tuple[bytes, bytes]:
    name, _colon, value = piece.partition(b":")
    return name.strip(), value.strip()


def _lost_loss(fields: dict[bytes, bytes], metrics: dict[str, float]) -> bool:
    """Tell whether ``lm loss`` is missing because it was NaN.

    It is missing for other reasons too, and those are not taken for NaN: the line is torn (the skipped iterations at
    its end are missing), the iterations were skipped, every token was masked and the loss was exactly zero, or the
    model has another loss. A NaN loss makes the gradients NaN, so the gradient norm decides. Where none is printed (no
    clipping), a loss is expected of a line that has a learning rate and names no other loss.
    """
    if b"lm loss" in fields or metrics.get("skipped_iterations") != 0:
        return False
    if "grad_norm" in metrics:
        return not math.isfinite(metrics["grad_norm"])
    return "learning_rate" in metrics and not any(name.endswith(b"loss") for name in fields)
