# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Thresholds: a measured value against its bound, in the bound's own direction."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Collection


def is_met(kind: str, value: float, bound: float) -> bool:
    """Tell whether a value meets its bound: at least it (``min``) or at most it (``max``). NaN meets nothing."""
    return value >= bound if kind == "min" else value <= bound


def judge_thresholds(
    expected: list[dict[str, t.Any]], metrics: dict[str, dict[str, t.Any]], incomplete: Collection[str] = ()
) -> dict[str, dict[str, t.Any]]:
    """Return the metrics with ``threshold``, ``direction`` (min or max) and ``met`` added, all None without a bound.

    A metric that is expected and was not measured is there as well, with ``value`` None and ``met`` False. The metrics
    that are ``incomplete``, measured on some nodes but not on all that should have them, are not met either.
    """
    bounds = {bound["metric"]: bound for bound in expected}
    judged = {}
    for metric in [*metrics, *(metric for metric in bounds if metric not in metrics)]:
        measured = metrics.get(metric, {"value": None, "samples": 0})
        bound = bounds.get(metric)
        met = None
        if bound:
            whole = measured["value"] is not None and metric not in incomplete
            met = whole and is_met(bound["kind"], measured["value"], bound["value"])
        judged[metric] = {
            **measured,
            "threshold": bound["value"] if bound else None,
            "direction": bound["kind"] if bound else None,
            "met": met,
        }
    return judged
