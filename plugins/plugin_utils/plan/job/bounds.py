# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounds: what a run is expected to do, as the plan holds it.

A bound is a mapping of ``metric`` (canonical), ``kind`` and ``value``::

    {"metric": "tflops_per_gpu", "kind": "min", "value": 300.0}
    {"metric": "step_time_ms", "kind": "max", "value": 500.0, "statistic": "p95"}
    {"metric": "tokens_per_sec_per_gpu", "kind": "within", "value": 12000.0, "tolerance_pct": 5.0}
    {"metric": "tokens_per_sec_per_gpu", "kind": "ratio", "value": 0.95, "reference": 12500.0}

``min`` is at least the value, ``max`` at most, ``within`` off the value by no more than so many percent of it,
``ratio`` at least this part of a reference, which is a number or a metric of the same node, and ``info`` is reported
and never judged. ``statistic`` is another one than the metric's own (mean, p05, p95); an ``optional`` metric may be
missing.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ....module_utils.logs.record import in_words
from ...contracts import Bound

KINDS = ("min", "max", "within", "ratio", "info")


def limits(bound: Bound | Mapping[str, t.Any], reference: float | None = None) -> tuple[float | None, float | None]:
    """Return the least and the greatest value that meets a bound, None where that side is open.

    ``reference`` is what the metric that a ratio refers to measured. Without it, neither side is known.
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
    """Return what a bound asks for: ``≥ 300 TFLOP/s``."""
    metric, kind, value = bound["metric"], bound["kind"], bound["value"]
    if kind == "ratio":
        reference = bound["reference"]
        of = reference if isinstance(reference, str) else in_words(metric, reference)
        return f"≥ {value:g} × {of}"
    if kind == "within":
        return f"within {bound['tolerance_pct']:g} % of {in_words(metric, value)}"
    sign = {"min": "≥ ", "max": "≤ "}.get(kind, "")
    return f"{sign}{in_words(metric, value)}".strip()
