# SPDX-License-Identifier: GPL-3.0-or-later
"""How often intervals hold what they claim to: of the median, and of a fall of the loss.

    python benchmarks/coverage.py [--series 1000]

Series are autoregressive of order 1 with known rho, as step times that vary by a tenth, and no
trend. Coverage is the share of series whose 95 % interval holds the true median; a false claim is
that a flat series of losses falls, rises, or climbs at its end.
``plain`` is the interval that takes the steps as independent of each other.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.signal import lfilter
from scipy.special import betaincinv
from scipy.stats import theilslopes

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "collections"))

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.intervals import median_interval
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.loss_trend import FALLING, RISING, loss_trend

RHOS = (0.0, 0.5, 0.9)
SIZES = (3, 5, 8, 10, 15, 30, 100, 200)
SIZES_OF_LOSSES = (20, 30, 50, 200)
# Of values with a standard deviation of 1.
MEDIAN = 10.0
# A loss of 4 whose neighbours differ by about 2 %.
LEVEL, DEVIATION = 4.0, 0.08


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=1000, help="how many series of each kind")
    count = parser.parse_args().series
    print("coverage of the median by a 95 % interval (plain -> ours)")
    _table(SIZES, lambda rho, size: f"{_coverage(_plain, rho, size, count):.2f} -> {_ours(rho, size, count):.2f}")
    print("flat losses that are said to fall, to rise (plain slope -> ours), and to climb at the end (ours)")
    _table(SIZES_OF_LOSSES, lambda rho, size: _claims(rho, size, count))


def _table(sizes: tuple[int, ...], cell: Callable[[float, int], str]) -> None:
    print(f"{'rho':>5}" + "".join(f"{f'n = {size}':>32}" for size in sizes))
    for rho in RHOS:
        print(f"{rho:5.1f}" + "".join(f"{cell(rho, size):>32}" for size in sizes))


def _ours(rho: float, size: int, count: int) -> float:
    return _coverage(median_interval, rho, size, count)


def _coverage(interval_of: Callable[[np.ndarray], dict[str, float] | None], rho: float, size: int, count: int) -> float:
    intervals = [interval_of(MEDIAN + values) for values in _series(rho, size, count)]
    return sum(bool(found and found["low"] <= MEDIAN <= found["high"]) for found in intervals) / count


def _claims(rho: float, size: int, count: int) -> str:
    steps = np.arange(size)
    losses = [LEVEL + DEVIATION * values for values in _series(rho, size, count)]
    slopes = [theilslopes(values, steps)[2:] for values in losses]
    trends = [loss_trend(steps, values) for values in losses]
    ours = [trend["direction"] for trend in trends]
    plain = (sum(high < 0 for _low, high in slopes), sum(low > 0 for low, _high in slopes))
    found = (ours.count(FALLING), ours.count(RISING))
    climbs = sum(trend["climb"] is not None for trend in trends)
    return " -> ".join(" ".join(f"{part / count:.1%}" for part in parts) for parts in (plain, (*found, climbs)))


def _series(rho: float, size: int, count: int) -> np.ndarray:
    random = np.random.default_rng(round(1000 * rho) + size)
    fresh = random.normal(size=(count, size + 200))
    return lfilter([np.sqrt(1 - rho**2)], [1.0, -rho], fresh, axis=1)[:, 200:]


def _plain(values: np.ndarray) -> dict[str, float]:
    size = values.size
    ordered, middles = np.sort(values), np.array([(size + 1) // 2, size // 2 + 1])
    low, high = (betaincinv(middles, size - middles + 1, share) * size for share in (0.025, 0.975))
    return {"low": float(ordered[low.astype(int)].mean()), "high": float(ordered[high.astype(int)].mean())}


if __name__ == "__main__":
    main()
