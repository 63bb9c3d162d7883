# SPDX-License-Identifier: GPL-3.0-or-later
"""Which thresholds the worst node met and missed, and by how much."""

from __future__ import annotations

import typing as t

from ..contracts import Interval, JudgedBound
from ..plan.job.bounds import threshold_in_words
from ..text.numbers import exact, in_words, margin, name_of, number, scale_of, unit_of
from .reasons import FAIL, INCONCLUSIVE, PASS, Reasons
from .thresholds import is_met, nearest_limit

if t.TYPE_CHECKING:
    from .seen import Seen

# What a node did, by metric; other metrics it "reported".
_DID = {
    "step_time_ms": "took {value} per step",
    "tflops_per_gpu": "reached {value}",
    "tokens_per_sec_per_gpu": "reached {value}",
    "memory_fraction": "used {value} of its GPU memory",
    "loss": "ended with a loss of {value}",
    "steps_to_target_loss": "came to the target loss at step {value}",
    "time_to_target_loss": "came to the target loss after {value}",
    "checkpoint_save_seconds": "took up to {value} to write a checkpoint",
}
_DID_NOT = dict.fromkeys(
    ("steps_to_target_loss", "time_to_target_loss"), "does not show when its loss came to the target, if it did"
)
_OF_STATISTIC = {"mean": " on average", "p05": " at the 5th percentile", "p95": " at the 95th percentile"}


def judge_thresholds(seen: Seen, reasons: Reasons) -> None:
    """Note which thresholds were met by the worst node, which were missed, and what was not measured.

    The measured value decides; a note says where the threshold lies inside the interval of the value.
    """
    for bound in seen.bounds:
        metric, wanted = bound["metric"], f"the threshold is {threshold_in_words(bound)}"
        if bound["kind"] == "info":
            continue
        for node in () if bound["optional"] else bound["missing"]:
            message = f"{node} {_DID_NOT.get(metric, f'did not report its {name_of(metric)}')}; {wanted}."
            reasons.add(INCONCLUSIVE, "metric_missing", message, node)
        if bound["measured"] is None:
            if bound["optional"]:
                reasons.note("metric_missing", f"No node reported its {name_of(metric)}; its threshold is optional.")
            continue
        what = f"{_what(bound)}; {wanted}{_margin(bound)}"
        if is_met(bound["measured"], bound["least"], bound["greatest"]):
            reasons.add(PASS, "threshold_met", f"{what}.", bound=bound)
        elif bound["statistic"] == "last" and not seen.reached.finished:
            reasons.add(INCONCLUSIVE, "threshold_open", f"{what}, but the training did not finish.", bound=bound)
        else:
            reasons.add(FAIL, "threshold_missed", f"{what}.", bound=bound)
        if bound["within_noise"]:
            reasons.note("threshold_in_noise", _within_noise(bound), bound["node"])
    if seen.plan["record_only"]:
        why = "this was a rehearsal" if seen.plan.get("rehearsal") else "the run is only recorded"
        reasons.add(PASS, "thresholds_not_judged", f"Thresholds were not judged ({why}).")


def _what(bound: JudgedBound) -> str:
    """Return what the worst node did: ``gpu37 reached 8,725 tokens/s per GPU``."""
    metric, value = bound["metric"], t.cast(float, bound["measured"])
    text = in_words(metric, value, _uncertainty(bound["interval"]))
    limit = nearest_limit(bound)
    if limit is not None and value != limit and in_words(metric, value) == in_words(metric, limit):
        text = exact(scale_of(metric) * value) + unit_of(metric)
    did = _DID.get(metric, f"reported {name_of(metric)} of {{value}}").format(value=text)
    return f"{bound['node']} {did}{_OF_STATISTIC.get(bound['statistic'] or '', '')}"


def _margin(bound: JudgedBound) -> str:
    """Return how far the value is from the threshold, in percent of it, or how often it is the threshold."""
    against = bound["value"] if bound["kind"] == "within" else nearest_limit(bound)
    return f" ({margin(t.cast(float, bound['measured']) / against - 1)})" if against else ""


def _within_noise(bound: JudgedBound) -> str:
    """Return a note such as ``gpu37: 599.7 of 600 TFLOP/s per GPU is within the noise (598.5 to 600.9)``."""
    metric, interval = bound["metric"], t.cast(Interval, bound["interval"])
    scale, uncertainty = scale_of(metric), _uncertainty(interval)
    low, value, high = (
        number(scale * value, scale * uncertainty)
        for value in (interval["low"], t.cast(float, bound["measured"]), interval["high"])
    )
    limit = number(scale * t.cast(float, nearest_limit(bound)), digits=10)
    other = "missed" if bound["met"] else "met"
    return (
        f"{bound['node']}: {value} of {limit}{unit_of(metric)} is within the noise ({low} to {high}). Another run "
        f"could have {other} the threshold."
    )


def _uncertainty(interval: Interval | None) -> float:
    return (interval["high"] - interval["low"]) / 2 if interval else 0.0
