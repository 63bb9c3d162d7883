# SPDX-License-Identifier: GPL-3.0-or-later
"""How often healthy fleets are accused of a slow node, and how often slow nodes are found.

    python benchmarks/stragglers.py [--fleets 300]

Each fleet has 64 nodes that train by themselves, with a step time of 500 ms. A fleet is accused if
any healthy node is named. In the second table, node 7 of each fleet is slow; its steps vary by 1 %.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.signal import lfilter

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "collections"))

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.stragglers import (
    DEFAULT_DEVIATIONS,
    stragglers_of,
)

NODES, SLOW = 64, 7
SIZES = (8, 10, 15, 30, 100)
Fleet = Callable[[np.random.Generator, int], np.ndarray]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fleets", type=int, default=300, help="how many fleets of each kind")
    count = parser.parse_args().fleets
    print(f"healthy fleets of {NODES} nodes of which one is named (%)")
    _table(HEALTHY, lambda fleet, size: sum(bool(named(times)) for times in _fleets(fleet, size, count)) / count)
    print("fleets whose slow node is named, and only it (%)")
    _table(FAULTY, lambda fleet, size: sum(named(times) == [SLOW] for times in _fleets(fleet, size, count)) / count)


def named(times: np.ndarray) -> list[int]:
    """Return which nodes are named, given the relative step times of a fleet, a row each step."""
    steps, nodes = times.shape
    frame = pd.DataFrame(
        {
            "node": np.repeat([str(node) for node in range(nodes)], steps),
            "step": np.tile(np.arange(1, steps + 1), nodes),
            "counted": True,
            "step_time_ms": 500.0 * times.T.ravel(),
        }
    )
    # Of the statistics only these are compared; to describe each node in full takes five times as long.
    by_node = {
        str(node): {"step_time_ms": {"median": np.median(own), "mean": own.mean(), "p95": np.quantile(own, 0.95)}}
        for node, own in enumerate(500.0 * times.T)
    }
    found = stragglers_of(frame, by_node, DEFAULT_DEVIATIONS, together=False)
    return [int(one["node"]) for one in found["nodes"]]


def _table(rows: dict[str, Fleet], cell: Callable[[Fleet, int], float]) -> None:
    print(f"{'steps':>40}" + "".join(f"{size:>8}" for size in SIZES))
    for name, fleet in rows.items():
        print(f"{name:>40}" + "".join(f"{100 * cell(fleet, size):8.1f}" for size in SIZES), flush=True)


def _fleets(fleet: Fleet, size: int, count: int) -> Iterator[np.ndarray]:
    random = np.random.default_rng(size)
    return (fleet(random, size) for _ in range(count))


def normal(deviation: float) -> Fleet:
    """Return fleets whose steps vary independently by so much."""
    return lambda random, size: 1 + deviation * random.normal(size=(size, NODES))


def correlated(deviation: float, rho: float) -> Fleet:
    """Return fleets whose neighbouring steps correlate."""

    def fleet(random: np.random.Generator, size: int) -> np.ndarray:
        fresh = random.normal(size=(size + 100, NODES))
        return 1 + deviation * lfilter([np.sqrt(1 - rho**2)], [1.0, -rho], fresh, axis=0)[100:]

    return fleet


def heavy(deviation: float) -> Fleet:
    """Return fleets with heavy tails: Student's t with 3 degrees of freedom, upwards only."""
    return lambda random, size: 1 + deviation * np.abs(random.standard_t(3, size=(size, NODES)))


def hiccups(share: float, slower: float, steps: int = 1) -> Fleet:
    """Return fleets in which any node, in this share of its steps, gets slower for so many steps."""

    def fleet(random: np.random.Generator, size: int) -> np.ndarray:
        starts = random.random((size, NODES)) < share / steps
        slow = np.stack([np.convolve(column, np.ones(steps))[:size] > 0 for column in starts.T], axis=1)
        return normal(0.01)(random, size) + slower * slow

    return fleet


def checkpoints(random: np.random.Generator, size: int) -> np.ndarray:
    """Return a fleet in which each node writes a checkpoint every 10 steps, each at its own step."""
    offset = random.integers(10, size=NODES)
    return normal(0.01)(random, size) + 0.5 * ((np.arange(size)[:, None] + offset) % 10 == 0)


def levels(random: np.random.Generator, size: int) -> np.ndarray:
    """Return a fleet whose nodes differ by 0.5 % for good, as chips do."""
    return normal(0.01)(random, size) + 0.005 * random.normal(size=NODES)


def slow_in(share: float, slower: float) -> Fleet:
    """Return fleets with one node that is slower in this share of its steps, in random ones."""

    def fleet(random: np.random.Generator, size: int) -> np.ndarray:
        times = normal(0.01)(random, size)
        steps = random.permutation(size)[: max(1, round(share * size))]
        times[steps, SLOW] += slower
        return times

    return fleet


HEALTHY: dict[str, Fleet] = {
    "normal, 1 %": normal(0.01),
    "normal, 10 %": normal(0.1),
    "normal, 1 %, neighbours correlate by 0.5": correlated(0.01, 0.5),
    "the same by 0.9": correlated(0.01, 0.9),
    "normal, 5 %, neighbours correlate by 0.9": correlated(0.05, 0.9),
    "heavy tails, 2 %": heavy(0.02),
    "1 step in 50 is 30 % slower": hiccups(0.02, 0.3),
    "1 step in 10 is 30 % slower": hiccups(0.1, 0.3),
    "the same in stretches of 3": hiccups(0.1, 0.3, 3),
    "1 stretch of 5 steps in 1000 steps": hiccups(0.005, 0.3, 5),
    "checkpoints every 10 steps, staggered": checkpoints,
    "nodes differ by 0.5 %": levels,
}
FAULTY: dict[str, Fleet] = {
    "5.6 % slower in all steps": slow_in(1.0, 0.056),
    "25 % slower in a fifth of its steps": slow_in(0.2, 0.25),
    "25 % slower in two fifths": slow_in(0.4, 0.25),
    "10 % slower in a third": slow_in(1 / 3, 0.10),
    "2 times slower in a tenth": slow_in(0.1, 1.0),
}


if __name__ == "__main__":
    main()
