# SPDX-License-Identifier: GPL-3.0-or-later
"""Thresholds in words."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ...module_utils.logs.record import ALL_METRICS
from ..contracts import Margin
from .numbers import exact, name_of, scale_of, share_in_words, times, unit_of

_ASKED = {"max": "allowed", "within": "expected"}
# From here on, a factor is easier to read than a percentage.
_TWICE = 2.0


def threshold_in_words(bound: Mapping[str, t.Any]) -> str:
    """Return the value of a bound for use after "the threshold is": ``8,800``, ``at most 500 ms``, ``400 ± 2.5 %``."""
    least = "" if ALL_METRICS[bound["metric"]].better == "higher" else "at least "
    return {"max": "at most ", "min": least, "ratio": least}.get(bound["kind"], "") + wanted(bound)


def asked(bound: Mapping[str, t.Any]) -> str:
    """Return a bound's requirement: ``the required 9,000``, ``the allowed 500 ms``, ``the expected 400 ± 2.5 %``."""
    return f"the {_ASKED.get(bound['kind'], 'required')} {wanted(bound)}"


def margin_in_words(margin: Margin) -> str:
    """Return how far a value is from its threshold: ``3.1 % below``, ``exactly``, and from twice on ``2.4 times``."""
    if margin["side"] == "above" and 1 + margin["share"] >= _TWICE:
        return times(1 + margin["share"])
    return f"{share_in_words(margin['share'])} {margin['side']}" if margin["share"] else "exactly"


def wanted(bound: Mapping[str, t.Any]) -> str:
    """Return the value of a bound with its unit: ``8,800``, ``500 ms``, ``400 ± 2.5 %``."""
    metric, value = bound["metric"], bound["value"]
    unit, scale = unit_of(metric), scale_of(metric)
    # If the metric's name is its unit, omit the unit.
    unit = "" if unit.strip() == name_of(metric) else unit
    if bound["kind"] == "ratio":
        reference = bound["reference"]
        of = f"the {name_of(reference)}" if isinstance(reference, str) else exact(scale * reference) + unit
        return f"{exact(100.0 * value)} % of {of}"
    tolerance = f" ± {exact(bound['tolerance_pct'])} %" if bound["kind"] == "within" else ""
    return f"{exact(scale * value)}{unit}{tolerance}"
