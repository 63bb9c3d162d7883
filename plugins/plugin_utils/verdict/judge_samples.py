# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether enough steps count, and whether those left out were a warm-up."""

from __future__ import annotations

import typing as t

from ..plan.job.sizes import MIN_SAMPLES
from .reasons import INCONCLUSIVE, PASS, Reasons
from .statistics import samples_of

if t.TYPE_CHECKING:
    from .seen import Seen

# More steps than this, and a larger part of all steps, are not compilation or filling caches. A warm-up that the user
# set may be longer, but it has to leave half of the run.
_LONG_WARM_UP, _LARGE_IF_DETECTED, _LARGE_IF_ASKED = 10, 0.25, 0.5
# Noise changes a pace by less.
_SLOW_WARM_UP = 0.10


def judge_samples(seen: Seen, reasons: Reasons) -> None:
    """Note where too few values are left after the warm-up, and a warm-up that is too long to be one."""
    warm_up, judged = seen.warm_up, seen.judged_metrics
    counts = {node: samples_of(found) for node, found in seen.by_node.items()}
    for node, found in seen.by_node.items():
        needed: dict[str, t.Any] = {"needed": MIN_SAMPLES, "warm_up": warm_up.steps}
        if counts[node] < MIN_SAMPLES:
            reasons.argue(INCONCLUSIVE, "too_few_samples", node, samples=counts[node], **needed)
            continue
        for metric in (metric for metric in judged if metric in found):
            count = found[metric]["samples"]
            if count < MIN_SAMPLES:
                few = {"metric": metric, "samples": count, **needed}
                reasons.argue(INCONCLUSIVE, "too_few_samples", node, case="metric", **few)
    if counts and min(counts.values()) >= MIN_SAMPLES:
        reasons.argue(PASS, "samples", samples=counts, least=min(counts.values()), warm_up=warm_up.steps)
    if counts:
        reasons.remark(warm_up.code, case=warm_up.case, **warm_up.values)
    _judge_warm_up(seen, reasons)


def _judge_warm_up(seen: Seen, reasons: Reasons) -> None:
    warm_up = seen.warm_up
    most = max(map(len, seen.attempts.values()), default=0)
    large = _LARGE_IF_DETECTED if warm_up.detected else _LARGE_IF_ASKED
    long = warm_up.steps > max(_LONG_WARM_UP, large * most)
    if not long or not warm_up.steady or warm_up.apart <= _SLOW_WARM_UP:
        return
    case = "detected" if warm_up.detected else "asked"
    reasons.argue(INCONCLUSIVE, "long_warm_up", case=case, warm_up=warm_up.steps, steps=most, apart=warm_up.apart)
