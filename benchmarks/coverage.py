# SPDX-License-Identifier: GPL-3.0-or-later
"""How often intervals hold what they claim to, and how wide they are: of medians, means, and a fall of the loss.

    python benchmarks/coverage.py [--series 1000]

Coverage is the share of series whose 95 % interval holds the true value, with the mean width of
the intervals: 1.0 is as wide as the middle 95 % of the sample's own medians (or means), which is
what an interval needs if the distribution is known. Below 5 steps there is none. The range of
few correlated steps often does not hold the truth, and no interval leaves that range; neither does
that of few steps whose rare outliers make up much of the mean.

A false claim is that a flat series of losses falls, rises, or climbs at its end.
"""

from __future__ import annotations

import argparse
import sys
import typing as t
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.signal import lfilter
from scipy.stats import theilslopes

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "collections"))

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.intervals import mean_interval, median_interval
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.loss_trend import FALLING, RISING, loss_trend

SIZES = (5, 8, 10, 15, 30, 100, 1000)
RHOS = (0.0, 0.5, 0.9)
SIZES_OF_LOSSES = (20, 30, 50, 200)
# A loss of 4 whose neighbours differ by about 2 %.
LEVEL, DEVIATION = 4.0, 0.08
_SLOW_SHARE, _SLOW = 0.05, 0.5

# Many series of so many values, a row each, from a source of chance.
Series = Callable[[np.random.Generator, int, int], np.ndarray]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=1000, help="how many series of each kind")
    count = parser.parse_args().series
    for name, statistic, interval_of in (("median", np.median, median_interval), ("mean", np.mean, mean_interval)):
        print(f"coverage of the {name} by its interval, and × the width needed")
        _table(
            KINDS,
            SIZES,
            lambda kind, size, statistic=statistic, interval_of=interval_of: _coverage(
                KINDS[kind], size, count, statistic, interval_of
            ),
        )
    print("flat losses that are said to fall, to rise (plain slope -> ours), and to climb at the end (ours)")
    _table(RHOS, SIZES_OF_LOSSES, lambda rho, size: _claims(rho, size, count))


def _table(rows: t.Iterable[t.Any], sizes: tuple[int, ...], cell: Callable[[t.Any, int], str]) -> None:
    width = 16 if len(sizes) > 4 else 32
    print(f"{'':>40}" + "".join(f"{f'n = {size}':>{width}}" for size in sizes))
    for row in rows:
        print(f"{row!s:>40}" + "".join(f"{cell(row, size):>{width}}" for size in sizes), flush=True)


def correlated(rho: float) -> Series:
    """Return series of step times that vary by 1 %, and of which neighbours correlate (AR(1))."""

    def series(random: np.random.Generator, count: int, size: int) -> np.ndarray:
        fresh = random.normal(size=(count, size + 200))
        return 1.0 + 0.01 * lfilter([np.sqrt(1 - rho**2)], [1.0, -rho], fresh, axis=1)[:, 200:]

    return series


def _lognormal(random: np.random.Generator, count: int, size: int) -> np.ndarray:
    return np.exp(0.5 * random.normal(size=(count, size)))


def _with_outliers(random: np.random.Generator, count: int, size: int) -> np.ndarray:
    values = correlated(0.0)(random, count, size)
    values[random.random(values.shape) < _SLOW_SHARE] += _SLOW
    return values


KINDS: dict[str, Series] = {
    "independent": correlated(0.0),
    "neighbours correlate by 0.3": correlated(0.3),
    "by 0.5": correlated(0.5),
    "by 0.9": correlated(0.9),
    "lognormal, sigma 0.5": _lognormal,
    "1 step in 20 takes half as long again": _with_outliers,
}


def _coverage(
    series: Series,
    size: int,
    count: int,
    statistic: Callable[..., t.Any],
    interval_of: Callable[[np.ndarray], t.Any],
) -> str:
    random = np.random.default_rng(size)
    ends = np.array([list(interval_of(values).values()) for values in series(random, count, size)])
    truth = float(statistic(series(random, 1000, 1000)))
    own = statistic(series(random, 10 * count, size), axis=1)
    needed = float(np.diff(np.quantile(own, [0.025, 0.975]))[0])
    share = float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())
    return f"{share:.3f} × {(ends[:, 1] - ends[:, 0]).mean() / needed:.2f}"


def _claims(rho: float, size: int, count: int) -> str:
    steps, random = np.arange(size), np.random.default_rng(round(1000 * rho) + size)
    losses = [LEVEL + DEVIATION * values for values in 100.0 * (correlated(rho)(random, count, size) - 1.0)]
    slopes = [theilslopes(values, steps)[2:] for values in losses]
    trends = [loss_trend(steps, values) for values in losses]
    ours = [trend["direction"] for trend in trends]
    plain = (sum(high < 0 for _low, high in slopes), sum(low > 0 for low, _high in slopes))
    found = (ours.count(FALLING), ours.count(RISING))
    climbs = sum(trend["climb"] is not None for trend in trends)
    return " -> ".join(" ".join(f"{part / count:.1%}" for part in parts) for parts in (plain, (*found, climbs)))


if __name__ == "__main__":
    main()
