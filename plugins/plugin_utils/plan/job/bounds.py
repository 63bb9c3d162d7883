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

from ...contracts import Bound
from ...text.bounds import wanted
from ...text.numbers import name_of

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
    """Return what a bound wants, in short: ``TFLOP/s per GPU ≥ 300``, ``step time (p95) ≤ 500 ms``."""
    kind, statistic = bound["kind"], bound.get("statistic")
    name = name_of(bound["metric"]) + (f" ({statistic})" if statistic else "")
    sign = {"min": "≥ ", "max": "≤ ", "ratio": "≥ "}.get(kind, "")
    return f"{name} {sign}{wanted(bound)}"
