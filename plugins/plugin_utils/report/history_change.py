# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether runs differ for real or within noise: the measure is how much runs of the same key differ anyway.

The steps within one run say little of that, as they share nodes, temperature and placement; so only whole runs count,
each by its one value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...module_utils.logs.record import METRICS

REAL, NOISE, UNKNOWN = "real change", "within noise", "cannot be told"
# With fewer the spread of runs is a guess.
MIN_RUNS = 5
LEVEL = 0.05
_MOST_SPLITS = 20_000
# A change smaller than this, relative to the value, is rounding.
_ROUNDING = 1e-9

# Student's t, two-sided 95 %, for 1 to 30 degrees of freedom; with more, that for 30 is a little too wide.
# Source: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
_T_95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


@dataclass(frozen=True)
class Change:
    """How a metric differs, and whether that is real.

    ``before`` and ``after`` are values in the metric's unit, ``percent`` the change relative to ``before`` (None where
    that is 0). ``low`` and ``high`` bound the noise around ``before``, where that can be told. ``better`` says whether
    the change is a good one, None for neither. ``told`` is the test and its outcome in words.
    """

    metric: str
    before: float
    after: float
    percent: float | None
    outcome: str
    better: bool | None
    low: float | None
    high: float | None
    told: str


def against_earlier(metric: str, value: float, earlier: Sequence[float]) -> Change:
    """Return how one run's value stands to those of earlier runs of the same key.

    The test is the 95 % prediction interval of one further run, mean ± t·s·√(1 + 1/n), under Student's t with n − 1
    degrees of freedom; s is the standard deviation of the n earlier runs.
    """
    values = np.array(earlier, dtype=float)
    if len(values) < MIN_RUNS:
        before = float(np.median(values)) if len(values) else math.nan
        told = f"{_counted(len(values))} of the same key; {MIN_RUNS} are needed to know how much runs differ anyway"
        return _change(metric, before, value, UNKNOWN, told=told)
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    quantile = _T_95[min(len(values) - 1, len(_T_95)) - 1]
    margin = max(quantile * spread * math.sqrt(1 + 1 / len(values)), _ROUNDING * abs(mean))
    outcome = NOISE if abs(value - mean) <= margin else REAL
    told = f"95 % prediction interval (Student's t) of one more run, from {len(values)} runs of the same key"
    return _change(metric, mean, value, outcome, mean - margin, mean + margin, told)


def between_groups(metric: str, before: Sequence[float], after: Sequence[float]) -> Change:
    """Return how two groups of runs differ; ``before`` and ``after`` of the answer are their medians.

    The test is that of Mann and Whitney, made exact by permutation: in how many of the splits of all runs into groups
    of these sizes the mean ranks are at least as far apart. All splits are looked at, or 20,000 drawn with one seed.
    """
    sizes = len(before), len(after)
    if not all(sizes):
        return _change(metric, _median(before), _median(after), UNKNOWN, told="one side has no run")
    splits = math.comb(sum(sizes), sizes[0])
    # The two splits in which all runs of one side are above all of the other are equally far.
    if 2 / splits > LEVEL:
        told = f"{sizes[0]} and {sizes[1]} runs: not even the clearest difference could be told from noise"
        return _change(metric, _median(before), _median(after), UNKNOWN, told=told)
    share = _share_as_far(np.array([*before, *after], dtype=float), sizes[0], splits)
    outcome = REAL if share <= LEVEL else NOISE
    drawn = "" if splits <= _MOST_SPLITS else f", {_MOST_SPLITS:,} splits drawn"
    told = f"Mann–Whitney test, by permutation, of {sizes[0]} and {sizes[1]} runs, p = {share:.2g}{drawn}"
    return _change(metric, _median(before), _median(after), outcome, told=told)


def _share_as_far(values: np.ndarray, size: int, splits: int) -> float:
    """Return the share of splits whose first group's ranks are at least as far from the middle as those of the first
    ``size`` values.
    """
    count = len(values)
    if splits <= _MOST_SPLITS:
        chosen = np.array(list(itertools.combinations(range(count), size)))
    else:
        chance = np.random.default_rng(0)
        drawn = chance.permuted(np.tile(np.arange(count), (_MOST_SPLITS - 1, 1)), axis=1)[:, :size]
        # The real split is one of them, so that p is never 0.
        chosen = np.vstack([np.arange(size), drawn])
    ranks = pd.Series(values).rank().to_numpy()
    apart = np.abs(ranks[chosen].mean(axis=1) - ranks.mean())
    return float(np.mean(apart >= abs(ranks[:size].mean() - ranks.mean()) - _ROUNDING))


def _change(
    metric: str,
    before: float,
    after: float,
    outcome: str,
    low: float | None = None,
    high: float | None = None,
    told: str = "",
) -> Change:
    percent = (after - before) / abs(before) * 100 if before else None
    better = None
    direction = METRICS[metric].better if metric in METRICS else "higher"
    if direction != "none" and outcome == REAL:
        better = (after > before) == (direction == "higher")
    return Change(metric, before, after, percent, outcome, better, low, high, told)


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if len(values) else math.nan


def _counted(count: int) -> str:
    return "no earlier run" if count == 0 else f"{count} earlier run{'' if count == 1 else 's'}"
