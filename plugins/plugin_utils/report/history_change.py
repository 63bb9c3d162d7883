# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether runs differ for real or within noise: the measure is how much runs of the same key differ anyway.

The steps within one run say little of that, as they share nodes, temperature and placement; so only whole runs count,
each by its one value.
"""

from __future__ import annotations

import itertools
import math
import typing as t
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from ...module_utils.logs.record import METRICS
from ..contracts import Reason
from ..text.comparison import comparison_finding

REAL, NOISE, UNKNOWN = "real change", "within noise", "not known"
# With fewer the spread of runs is a guess.
MIN_RUNS = 5
LEVEL = 0.05
_MOST_SPLITS = 20_000
# A change smaller than this, relative to the value, is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Change:
    """How a metric differs, and whether that is real.

    ``before`` and ``after`` are values in the metric's unit, ``percent`` the change relative to ``before``, both None
    where nothing was before, ``percent`` also where that was 0. ``low`` and ``high`` bound the noise around ``before``,
    where that is known, ``runs`` how many earlier runs they rest on. ``better`` says whether the change is a good one,
    None for neither. ``test`` is the test and its outcome in words, of which ``test_code``, ``test_case`` and
    ``test_values`` are the data, see `text.comparison`.
    """

    metric: str
    before: float | None
    after: float
    percent: float | None
    outcome: str
    better: bool | None
    low: float | None
    high: float | None
    test: str
    test_code: str
    test_case: str
    test_values: dict[str, t.Any]
    runs: int = 0


def count_tests(samples: Iterable[Sequence[float]]) -> int:
    """Return how many samples of earlier runs are large enough for `against_earlier` to test a value."""
    return sum(len(earlier) >= MIN_RUNS for earlier in samples)


def against_earlier(
    metric: str, value: float, earlier: Sequence[float], before: float | None = None, tests: int = 1
) -> Change:
    """Return how one run's value stands to those of earlier runs of the same key, or to that of one run, ``before``.

    The test is the 95 % prediction interval of one further run, mean ± t·s·√(1 + 1/n), under Student's t with n − 1
    degrees of freedom; s is the standard deviation of the n earlier runs. Two runs differ by t·s·√2. Of so many
    ``tests`` made at once, the intervals are so much wider that all of them hold together with 95 % (Bonferroni).
    """
    values = np.array(earlier, dtype=float)
    if len(values) < MIN_RUNS:
        before = float(np.median(values)) if before is None and len(values) else before
        case = "" if len(values) else "none"
        test = comparison_finding("too_few_runs", case, runs=len(values), needed=MIN_RUNS)
        return _change(metric, before, value, UNKNOWN, test, runs=len(values))
    count, case = (len(values), "") if before is None else (1, "second_run")
    middle, spread = float(values.mean()) if before is None else before, float(values.std(ddof=1))
    quantile = float(stdtrit(len(values) - 1, 1 - LEVEL / tests / 2))
    margin = max(quantile * spread * math.sqrt(1 + 1 / count), _ROUNDING * abs(middle))
    outcome = NOISE if abs(value - middle) <= margin else REAL
    test = _tested("prediction_interval", case, tests, runs=len(values))
    return _change(metric, middle, value, outcome, test, middle - margin, middle + margin, runs=len(values))


def count_telling_tests(sizes: Iterable[tuple[int, int]]) -> int:
    """Return how many of the tests between groups of these sizes have to share the level of 5 % (Tarone 1990).

    Those are left out which could show nothing even at the level that is left to them.
    """
    least = [2 / math.comb(one + other, one) for one, other in sizes]
    return next(count for count in itertools.count(1) if sum(share <= LEVEL / count for share in least) <= count)


def between_groups(metric: str, before: Sequence[float], after: Sequence[float], tests: int = 1) -> Change:
    """Return how two groups of runs differ; ``before`` and ``after`` of the answer are their medians.

    The test is that of Mann and Whitney: over all splits of the runs into groups of these sizes (by permutation), or,
    where these are more than 20,000, by the normal approximation. Both groups have runs. Of so many ``tests`` made at
    once (see `count_telling_tests`), p is that of one times their number (Bonferroni).
    """
    sizes: dict[str, t.Any] = {"before": len(before), "after": len(after)}
    medians = float(np.median(before)), float(np.median(after))
    splits = math.comb(len(before) + len(after), len(before))
    # The two splits in which all runs of one side are above all of the other are equally far.
    if 2 / splits > LEVEL / tests:
        return _change(metric, *medians, UNKNOWN, comparison_finding("too_few_to_differ", **sizes))
    few = splits <= _MOST_SPLITS
    # It takes longer to load than the report of a run to write.
    from scipy import stats  # noqa: PLC0415

    method = stats.PermutationMethod(n_resamples=_MOST_SPLITS) if few else "asymptotic"
    found = stats.mannwhitneyu(before, after, method=method)
    share = min(1.0, tests * float(found.pvalue))
    # Medians may stay where the runs around them change.
    grew = bool(found.statistic < len(before) * len(after) / 2)
    test = _tested("mann_whitney", "" if few else "approximation", tests, **sizes, p=share)
    return _change(metric, *medians, REAL if share <= LEVEL else NOISE, test, grew=grew)


def _tested(code: str, case: str, tests: int, **values: t.Any) -> Reason:
    """Return a test as a finding; of several tests at once, each is stricter."""
    together = {"tests": tests} if tests > 1 else {}
    case = "_".join(filter(None, (case, "together" if together else "")))
    return comparison_finding(code, case, **values, **together)


def _change(
    metric: str,
    before: float | None,
    after: float,
    outcome: str,
    test: Reason,
    low: float | None = None,
    high: float | None = None,
    grew: bool | None = None,
    runs: int = 0,
) -> Change:
    percent = (after - before) / abs(before) * 100 if before else math.inf
    better = None
    direction = METRICS[metric].better if metric in METRICS else "higher"
    if direction != "none" and outcome == REAL and before is not None:
        better = (after > before if grew is None else grew) == (direction == "higher")
    shown = percent if math.isfinite(percent) else None
    data = test["code"], test.get("case", ""), test["values"]
    return Change(metric, before, after, shown, outcome, better, low, high, test["message"], *data, runs)
