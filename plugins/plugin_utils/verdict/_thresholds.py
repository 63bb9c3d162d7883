# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Thresholds: a measured value against its bound, in the bound's own direction."""

from __future__ import annotations

import math
import typing as t


def is_met(kind: str, value: float, bound: float) -> bool:
    """Tell whether a value meets its bound: at least it (``min``) or at most it (``max``). NaN meets nothing."""
    if math.isnan(value):
        return False
    return value >= bound if kind == "min" else value <= bound


def judge_thresholds(
    expected: list[dict[str, t.Any]], metrics: dict[str, dict[str, t.Any]]
) -> dict[str, dict[str, t.Any]]:
    """Return the metrics with ``threshold``, ``direction`` (min or max) and ``met`` added, all None without one.

    A metric that is expected and was not measured is there as well, with ``value`` None and ``met`` False.
    """
    bounds = {bound["metric"]: bound for bound in expected}
    judged = {}
    for metric in [*metrics, *(metric for metric in bounds if metric not in metrics)]:
        measured = metrics.get(metric, {"value": None, "samples": 0})
        bound = bounds.get(metric)
        met = None
        if bound:
            met = measured["value"] is not None and is_met(bound["kind"], measured["value"], bound["value"])
        judged[metric] = {
            **measured,
            "threshold": bound["value"] if bound else None,
            "direction": bound["kind"] if bound else None,
            "met": met,
        }
    return judged
