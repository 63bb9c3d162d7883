# SPDX-License-Identifier: GPL-3.0-or-later
"""What a threshold asks for, in words."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ...module_utils.logs.record import ALL_METRICS
from .numbers import exact, name_of, scale_of, unit_of


def threshold_in_words(bound: Mapping[str, t.Any]) -> str:
    """Return the value of a bound after "the threshold is": ``8,800``, ``at most 500 ms``, ``400 ± 2.5 %``."""
    least = "" if ALL_METRICS[bound["metric"]].better == "higher" else "at least "
    return {"max": "at most ", "min": least, "ratio": least}.get(bound["kind"], "") + wanted(bound)


def wanted(bound: Mapping[str, t.Any]) -> str:
    """Return the value of a bound with its unit: ``8,800``, ``500 ms``, ``400 ± 2.5 %``."""
    metric, value = bound["metric"], bound["value"]
    unit, scale = unit_of(metric), scale_of(metric)
    # The name of such a metric is its unit.
    unit = "" if unit.strip() == name_of(metric) else unit
    if bound["kind"] == "ratio":
        reference = bound["reference"]
        of = f"the {name_of(reference)}" if isinstance(reference, str) else exact(scale * reference) + unit
        return f"{exact(100.0 * value)} % of {of}"
    tolerance = f" ± {exact(bound['tolerance_pct'])} %" if bound["kind"] == "within" else ""
    return f"{exact(scale * value)}{unit}{tolerance}"
