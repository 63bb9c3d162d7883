# SPDX-License-Identifier: GPL-3.0-or-later
"""How a run compares with the earlier runs of its key, and whether runs differ for real or within noise."""

from __future__ import annotations

import itertools
import json
import math
import typing as t
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from scipy.special import stdtrit

from ...module_utils.logs.record import METRICS
from ..contracts import Reason
from ..text.comparison import comparison_finding
from .charts import runs_chart
from .history_row import MEASURED, changes, comparable
from .history_store import latest_rows, notes_on
from .readable import titled

if t.TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from markupsafe import Markup

    from .history_row import Row


REAL, NOISE, UNKNOWN = "real change", "within noise", "not known"
# With fewer runs, their spread is a guess.
MIN_RUNS = 5
LEVEL = 0.05
_MOST_SPLITS = 20_000
# A change smaller than this, relative to the value, is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Change:
    """How a metric differs, and whether the difference is real.

    ``before`` and ``after`` are values in the metric's unit, ``percent`` is the change relative to ``before``. Both
    ``before`` and ``percent`` are None without an earlier value; ``percent`` is also None if that value was 0. ``low``
    and ``high`` bound the noise around ``before``, if known, and rest on so many earlier ``runs``. ``better`` tells
    whether the change is a good one, None for neither. ``test`` is the test and its outcome in words; its data are
    ``test_code``, ``test_case`` and ``test_values``, see `text.comparison`.
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
    """Return how a run's value compares with earlier runs of the same key, or with one run (``before``).

    The test is the 95 % prediction interval of one further run, mean ± t·s·√(1 + 1/n), under Student's t with n − 1
    degrees of freedom; s is the standard deviation of the n earlier runs. Two runs differ by t·s·√2. If so many
    ``tests`` are made at once, the intervals are widened so that all of them together have 95 % (Bonferroni).
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

    Tests that could show nothing even at their share of the level are left out.
    """
    least = [2 / math.comb(one + other, one) for one, other in sizes]
    return next(count for count in itertools.count(1) if sum(share <= LEVEL / count for share in least) <= count)


def between_groups(metric: str, before: Sequence[float], after: Sequence[float], tests: int = 1) -> Change:
    """Return how two groups of runs differ; ``before`` and ``after`` of the answer are their medians.

    The test is the Mann-Whitney test: over all splits of the runs into groups of these sizes (by permutation), or, for
    more than 20,000 splits, by the normal approximation. Both groups have runs. If so many ``tests`` are made at once
    (see `count_telling_tests`), p is multiplied by their number (Bonferroni).
    """
    sizes: dict[str, t.Any] = {"before": len(before), "after": len(after)}
    medians = float(np.median(before)), float(np.median(after))
    splits = math.comb(len(before) + len(after), len(before))
    # The two splits with all runs of one side above the other are equally extreme.
    if 2 / splits > LEVEL / tests:
        return _change(metric, *medians, UNKNOWN, comparison_finding("too_few_to_differ", **sizes))
    few = splits <= _MOST_SPLITS
    # Loading it takes longer than writing a run's report.
    from scipy import stats  # noqa: PLC0415

    method = stats.PermutationMethod(n_resamples=_MOST_SPLITS) if few else "asymptotic"
    found = stats.mannwhitneyu(before, after, method=method)
    share = min(1.0, tests * float(found.pvalue))
    # The runs may change around an unchanged median.
    grew = bool(found.statistic < len(before) * len(after) / 2)
    test = _tested("mann_whitney", "" if few else "approximation", tests, **sizes, p=share)
    return _change(metric, *medians, REAL if share <= LEVEL else NOISE, test, grew=grew)


def _tested(code: str, case: str, tests: int, **values: t.Any) -> Reason:
    """Return a test as a finding; if there are several tests at once, each is stricter."""
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


# The number of runs to look at, latest first, and the number of passed runs among them that show the noise.
LOOKED_AT = 50
COMPARED = 20
# The metrics that can be better or worse.
JUDGED = tuple(metric for metric in MEASURED if metric not in METRICS or METRICS[metric].better != "none")
# Shown from their first run on, so that readers see gaps.
_ALWAYS = ("step_time_ms", "tokens_per_sec_per_gpu")
_SHOWN = (
    *("run_id", "started_at", "verdict", "failure"),
    *(f"{metric}{bound}" for metric in MEASURED for bound in ("", "_low", "_high")),
)


def history_of(row: Row, folder: str | Path) -> dict[str, t.Any]:
    """Return how a run compares with earlier runs of its key in a history; all of it JSON without NaN.

    ``key``; ``runs``, this one and up to 20 earlier ones in the order of their start, each with run_id, started_at,
    verdict, failure and its metrics; ``comparison``, by metric the fields of `Change` against the last 20 runs that
    passed; ``last_good``, the last run that passed (None without one), and ``environment``, the changes since then
    (`history_row.changes`). ``not_looked_at`` means that there may be older runs; ``notes`` lists the files of the
    history that were left out.
    """
    left_out: list[Path] = []
    found = latest_rows(folder, row["framework"], row["key"], row["started_at"], row["run_id"], left_out)
    earlier = list(itertools.islice(found, LOOKED_AT))
    good = [other for other in earlier if other["verdict"] == "PASS"][:COMPARED]
    values = {
        metric: [other[metric] for other in good if other[metric] is not None and comparable(metric, row, other)]
        for metric in JUDGED
    }
    shown = [metric for metric in JUDGED if row[metric] is not None and (values[metric] or metric in _ALWAYS)]
    tests = count_tests(values[metric] for metric in shown)
    comparison = {metric: asdict(against_earlier(metric, row[metric], values[metric], tests=tests)) for metric in shown}
    return {
        "key": row["key"],
        "runs": [{name: other.get(name) for name in _SHOWN} for other in [*reversed(earlier[:COMPARED]), row]],
        "comparison": comparison,
        "last_good": good[0]["run_id"] if good else None,
        "environment": changes(json.loads(good[0]["environment"]), json.loads(row["environment"])) if good else [],
        "not_looked_at": len(earlier) == LOOKED_AT,
        "notes": notes_on(left_out),
    }


def charts_of(history: Mapping[str, t.Any]) -> dict[str, Markup]:
    """Return the charts of the page's section, by metric: throughput, or without throughput step time."""
    if len(history["runs"]) < 2:
        return {}
    for metric in reversed(_ALWAYS):
        change = history["comparison"].get(metric)
        noise = (change["low"], change["high"]) if change and change["low"] is not None else None
        drawn = runs_chart(history["runs"], metric, titled(metric), noise)
        if drawn is not None:
            return {metric: drawn}
    return {}


WEAK, STRONG = "weak", "strong"
_TOKENS = "tokens_per_sec_per_gpu"


def scaling_of(history: pd.DataFrame, row: Row) -> dict[str, list[dict[str, t.Any]]]:
    """Return the scaling curves that a run lies on, by kind; a curve needs at least two node counts.

    In ``weak`` scaling each GPU keeps its share of the global batch, in ``strong`` scaling the global batch stays. The
    runs are passed runs of the history that differ from this one in nothing else. A run whose nodes or batch are
    unknown, as with logs without a config, is on no curve. A point has ``nnodes``, ``runs``, ``value`` (tokens/s per
    GPU, the median of the runs) and ``efficiency`` (the value relative to the fewest nodes').
    """
    if not row["nnodes"] or not row["gpus_per_node"] or not row["global_batch_size"]:
        return {}
    same = history[
        (history["scaling_key"] == row["scaling_key"]) & (history["verdict"] == "PASS") & (history[_TOKENS] > 0)
    ]
    share = same["global_batch_size"] / (same["nnodes"] * same["gpus_per_node"])
    own_share = row["global_batch_size"] / (row["nnodes"] * row["gpus_per_node"])
    kinds = {WEAK: same[share == own_share], STRONG: same[same["global_batch_size"] == row["global_batch_size"]]}
    return {kind: _points(runs) for kind, runs in kinds.items() if runs["nnodes"].nunique() > 1}


def _points(runs: pd.DataFrame) -> list[dict[str, t.Any]]:
    curve = runs.groupby("nnodes")[_TOKENS].agg(["median", "size"]).sort_index().reset_index()
    first = curve["median"].iloc[0]
    return [
        {"nnodes": int(nnodes), "runs": int(count), "value": float(value), "efficiency": float(value / first)}
        for nnodes, value, count in curve.itertuples(index=False)
    ]
