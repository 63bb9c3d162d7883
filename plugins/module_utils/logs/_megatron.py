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

from ansible_collections.trainops.cluster.plugins.module_utils.logs._text import line_end, plain

if t.TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = re.compile(rb"iteration[ \t]+(\d+)[ \t]*/[ \t]*(\d+)[ \t]*\|")

_NUMBER = rb"[-+]?(?:nan|inf|\d+\.?\d*(?:[eE][-+]?\d+)?)"
# A value may be followed by its running average: "587.1/512.3", "496.3 (avg 496.1)".
_VALUE = re.compile(rb"(" + _NUMBER + rb")(?:/" + _NUMBER + rb"|[ \t]+\(avg " + _NUMBER + rb"\))?")
_USAGE_RATIO = re.compile(rb".*/(\d+\.?\d*)%")

# Where two fields of a line give one metric, the first of them here counts.
_METRIC_OF_FIELD = (
    (b"elapsed time per iteration (ms)", "step_time_ms"),
    (b"throughput per GPU (TFLOP/s/GPU)", "tflops_per_gpu"),
    (b"compute per GPU (TFLOP/s/GPU)", "tflops_per_gpu"),
    (b"tokens per GPU (tokens/s/GPU)", "tokens_per_sec_per_gpu"),
    (b"tokens/s/GPU inst/harmonic mean", "tokens_per_sec_per_gpu"),
    (b"Tokens per second per GPU (Tok/s/GPU)", "tokens_per_sec_per_gpu"),
    (b"mem usages", "memory_fraction"),
    (b"lm loss", "loss"),
    (b"grad norm", "grad_norm"),
    (b"learning rate", "learning_rate"),
    (b"number of skipped iterations", "skipped_iterations"),
    (b"number of nan iterations", "nan_iterations"),
)
_USAGE_RATIO_FIELDS = (b"hip mem usage/free/total/usage_ratio", b"rocm mem usage/free/total/usage_ratio")

_SUMMARY = tuple(
    (metric, re.compile(re.escape(label) + rb":[ \t]*(" + _NUMBER + rb")[ \t]*(?:[\r\n]|\Z)"))
    for label, metric in (
        (b"throughput per GPU", "tflops_per_gpu"),
        (b"elapsed time per iteration", "step_time_ms"),
        (b"tokens/GPU/s", "tokens_per_sec_per_gpu"),
        (b"mem usages", "memory_fraction"),
    )
)


def parse(chunk: bytes) -> Iterator[dict[str, t.Any]]:
    """Yield ``{"step": int, "steps_total": int, "metrics": {metric: float}}`` for each iteration line, in their order.

    Units are those of ``METRICS``; of an instant value and its running average the instant one is taken. The bytes
    need not be valid UTF-8. A field counts only when its closing ``|`` is there, so a line that was torn apart gives
    what is whole of it. Lines that stand there twice are yielded twice.

    ``loss`` is ``lm loss`` and no other loss. Megatron prints it only where it is greater than zero (since core 0.17:
    not less), which NaN never is, so a NaN loss shows as a field that is not there: see ``_lost_loss``.
    """
    text = plain(chunk)
    for head in _HEAD.finditer(text):
        body = text[head.end() : line_end(text, head.end())]
        glued = _HEAD.search(body)
        if glued:
            body = body[: glued.start()]
        yield {"step": int(head.group(1)), "steps_total": int(head.group(2)), "metrics": _metrics(body)}


def summary(chunk: bytes) -> dict[str, float]:
    """Return the means of the closing lines: canonical metric -> value, which may be NaN.

    The scripts leave out the first two iterations and the last one. Where a line stands there more than once the last
    one counts; a line without a number is left out.
    """
    text = plain(chunk)
    found = {}
    for metric, pattern in _SUMMARY:
        for match in pattern.finditer(text):
            # An iteration line torn off right behind such a field looks the same, but for the bar before it.
            if text[match.start() - 2 : match.start()] != b"| ":
                found[metric] = float(match.group(1))
    return found


def _metrics(body: bytes) -> dict[str, float]:
    *closed, rest = body.split(b"|")
    fields = dict(_field(piece) for piece in closed)
    metrics: dict[str, float] = {}
    for name, metric in _METRIC_OF_FIELD:
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
    name, _, value = piece.partition(b":")
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
