# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounds: the expected performance of a run, as stored in the plan.

A bound is a mapping of ``metric`` (canonical), ``kind`` and ``value``::

    {"metric": "tflops_per_gpu", "kind": "min", "value": 300.0}
    {"metric": "step_time_ms", "kind": "max", "value": 500.0, "statistic": "p95"}
    {"metric": "tokens_per_sec_per_gpu", "kind": "within", "value": 12000.0, "tolerance_pct": 5.0}
    {"metric": "tokens_per_sec_per_gpu", "kind": "ratio", "value": 0.95, "reference": 12500.0}

``min`` is at least the value, ``max`` at most, ``within`` no further from the value than the given percentage,
``ratio`` at least this fraction of a reference, which is a number or a metric of the same node, and ``info`` is
reported but never judged. ``statistic`` replaces the metric's own (mean, p05, p95); an ``optional`` metric may be
missing.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ....module_utils.logs.record import in_words
from ...contracts import Bound

KINDS = ("min", "max", "within", "ratio", "info")


def limits(bound: Bound | Mapping[str, t.Any], reference: float | None = None) -> tuple[float | None, float | None]:
    """Return the lowest and the highest value that meet a bound; None where that side is open.

    ``reference`` is the measured value of the metric that a ratio refers to. Without it, neither side is known.
    """
    value, kind = bound["value"], bound["kind"]
    if kind == "min":
        return value, None
    if kind == "max":
        return None, value
    if kind == "within":
        off = abs(value) * bound["tolerance_pct"] / 100
        return value - off, value + off
    if kind == "ratio":
        given = bound["reference"]
        of = reference if isinstance(given, str) else given
        return (None if of is None else value * of), None
    return None, None


def bound_in_words(bound: Bound | Mapping[str, t.Any]) -> str:
    """Return a bound in words: ``≥ 300 TFLOP/s``."""
    metric, kind, value = bound["metric"], bound["kind"], bound["value"]
    if kind == "ratio":
        reference = bound["reference"]
        of = reference if isinstance(reference, str) else in_words(metric, reference)
        return f"≥ {value:g} × {of}"
    if kind == "within":
        return f"within {bound['tolerance_pct']:g} % of {in_words(metric, value)}"
    sign = {"min": "≥ ", "max": "≤ "}.get(kind, "")
    return f"{sign}{in_words(metric, value)}".strip()
