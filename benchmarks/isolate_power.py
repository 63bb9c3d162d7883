# SPDX-License-Identifier: GPL-3.0-or-later
"""How often an isolation accuses healthy nodes, and how often it finds bad ones: ``isolate_power.py [SWEEPS]``.

Each sweep is simulated with its confirmation, and judged as a real one is. Healthy nodes differ by 0.5 % (standard
deviation), a sample of a node by itself by 0.5 % more and one of a pair or group by 1 %. *heavy tails* draws what a
sample adds from Student's distribution with 3 degrees of freedom. A bad node is slow in all probes, a bad link in those
of pairs and groups. A group is as slow as its slowest node and link. The last table has rounds of groups, too, and in
some rows nodes that are slow in groups alone, or all groups but the smallest ones slow.
"""

from __future__ import annotations

import sys
import time
import typing as t
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT / "collections"))

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.groups import Split
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.judge import (
    best_references,
    confirming_tests,
    suspects_of,
    suspects_of_sweep,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.measured import Measured, Stage
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.pairs import Pair
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.planned import (
    CONFIRMING_ROUNDS,
    Cost,
    PlannedTests,
    plan_tests,
    smallest_group,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.scale import again_at_scale
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.scale import at_scale as slow_at_scale
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.score import scores_of

SINGLE, PAIR, GROUP = "gemm", "all_reduce", "torch_groups_all_reduce"
OF_NODES, OF_SAMPLE, OF_PAIR = 0.005, 0.005, 0.01
SAMPLES = 3
COST = Cost(single=60, pair=20)
WITH_GROUPS = Cost(single=60, pair=20, group=60)
# Large fleets do only this share of the sweeps, as each takes longer.
SIZES = {8: 1.0, 64: 0.5, 1024: 0.05}


@dataclass
class Fleet:
    """Nodes, of which some are slow, and links, of which some are: each with the logarithm of how much."""

    nodes: list[str]
    random: np.random.Generator
    slow: dict[str, float]
    slow_links: dict[frozenset[str], float]
    heavy: bool = False
    slow_in_groups: dict[str, float] = field(default_factory=dict)
    slow_at_scale: tuple[int, float] = (0, 0.0)

    def __post_init__(self) -> None:
        """Draw how healthy nodes differ."""
        self.own = dict(zip(self.nodes, self.random.normal(0, OF_NODES, len(self.nodes)), strict=True))

    def noise(self, deviation: float, count: int) -> t.Any:
        """Return noise of a standard deviation."""
        if self.heavy:
            return self.random.standard_t(3, count) * deviation / np.sqrt(3)
        return self.random.normal(0, deviation, count)

    def measured(
        self, singles: list[str], rounds: list[list[Pair]], stage: Stage, splits: Sequence[Split] = ()
    ) -> list[Measured]:
        """Return what tests would measure."""
        groups = [group for split in splits for group in split]
        of_groups = self.noise(OF_PAIR, len(groups))
        pairs = [pair for one in rounds for pair in one]
        of_singles = self.noise(OF_SAMPLE, SAMPLES * len(singles)).reshape(-1, SAMPLES)
        of_pairs = self.noise(OF_PAIR, len(pairs))
        return [
            *(
                Measured(SINGLE, "gpu", (node,), tuple(np.exp(self._of(node) + noise)), stage)
                for node, noise in zip(singles, of_singles, strict=True)
            ),
            *(
                Measured(PAIR, "link", pair, (float(np.exp(self._of_pair(pair) + noise)),), stage)
                for pair, noise in zip(pairs, of_pairs, strict=True)
            ),
            *(
                Measured(GROUP, "groups", tuple(group), (float(np.exp(self._of_group(group) + noise)),), stage)
                for group, noise in zip(groups, of_groups, strict=True)
            ),
        ]

    def _of(self, node: str) -> float:
        return float(self.own[node] + self.slow.get(node, 0.0))

    def _of_pair(self, pair: Pair) -> float:
        return sum(map(self._of, pair)) + self.slow_links.get(frozenset(pair), 0.0)

    def _of_group(self, group: Sequence[str]) -> float:
        nodes = max(self._of(node) + self.slow_in_groups.get(node, 0.0) for node in group)
        links = max((by for link, by in self.slow_links.items() if link <= set(group)), default=0.0)
        least, by = self.slow_at_scale
        return nodes + links + (by if len(group) >= least else 0.0)


def swept(fleet: Fleet, tests: PlannedTests) -> list[Measured]:
    """Return what a sweep and its confirmation measure."""
    measured = fleet.measured(tests["singles"], tests["pairs"], "sweep", tests["groups"])
    scored = scores_of(measured)
    suspects = suspects_of_sweep(scored)
    good = best_references(scored, fleet.nodes, [score.unit for score in suspects])
    again = confirming_tests(suspects, scored, good, smallest_group(tests))
    groups = (again.groups or again_at_scale(measured, tests["groups"]))[: tests["confirming_groups"]]
    return measured + fleet.measured(again.singles, again.pairs[: tests["confirming"]], "confirmation", groups)


def accused(fleet: Fleet, tests: PlannedTests) -> set[frozenset[str]]:
    """Return the nodes and links that are accused after a sweep and its confirmation."""
    return {frozenset({one["node"], one["other"] or one["node"]}) for one in suspects_of(swept(fleet, tests))}


class Rates(t.NamedTuple):
    """In which part of sweeps all that is bad was found, anything else accused, and groups said to be slow at scale."""

    found: float
    false: float
    at_scale: float


def rates(
    size: int,
    sweeps: int,
    slow: int,
    links: int,
    by: float,
    heavy: bool = False,
    *,
    cost: Cost = COST,
    in_groups: int = 0,
    at_scale: bool = False,
) -> Rates:
    """Return what is found where so many nodes and links are slow, so many nodes in groups alone, or large groups."""
    nodes = [f"node{number}" for number in range(size)]
    tests = plan_tests(nodes, cost, 60)
    random = np.random.default_rng(size)
    found = false = scale = 0
    for _ in range(sweeps):
        chosen = [nodes[place] for place in random.choice(size, slow + in_groups, replace=False)]
        met = [pair for one in tests["pairs"] for pair in one]
        bad_links = [frozenset(met[place]) for place in random.choice(len(met), links, replace=False)]
        effect = float(np.log1p(by))
        fleet = Fleet(
            nodes,
            random,
            dict.fromkeys(chosen[:slow], effect),
            dict.fromkeys(bad_links, effect),
            heavy,
            dict.fromkeys(chosen[slow:], effect),
            (3 * smallest_group(tests) // 2, effect if at_scale else 0.0),
        )
        bad = {frozenset({node}) for node in chosen} | set(bad_links)
        measured = swept(fleet, tests)
        suspects = suspects_of(measured)
        named = {frozenset({one["node"], one["other"] or one["node"]}) for one in suspects}
        found += bad <= named
        false += bool(named - bad)
        scale += bool(slow_at_scale(measured, suspects))
    return Rates(found / sweeps, false / sweeps, scale / sweeps)


class Way(t.NamedTuple):
    """A way to find a bad node: the minutes that it takes, and its node-minutes."""

    name: str
    minutes: float
    node_minutes: float


def ways(size: int) -> list[Way]:
    """Return what it costs to find one bad node among ``size``, a power of two, by each way with tests as long.

    The plan counts its confirmation for one suspect. Bisection tests both halves of the suspects at the same time until
    two are left, and those against good nodes; it finds one bad node, if each answer is right and what is slow shows in
    halves. Its other nodes wait, or do something else meanwhile.
    """
    tests = plan_tests([str(number) for number in range(size)], COST, 60)
    confirmation = (2 * COST.single + 2 * CONFIRMING_ROUNDS * COST.pair) / 60
    single, pair, halvings = COST.single / 60, COST.pair / 60, size.bit_length() - 1
    sweep, again = tests["seconds"]["sweep"] / 60, tests["seconds"]["confirmation"] / 60
    return [
        Way("the plan", sweep + again, tests["node_minutes"]["sweep"] + confirmation),
        Way("bisection, all nodes wait", halvings * single, halvings * size * single),
        Way("bisection, the others work", halvings * single, sum(size >> halving for halving in range(halvings))),
        Way("all pairs", single + (size - 1) * pair, size * (single + (size - 1) * pair)),
    ]


def main() -> None:
    """Print what the tests cost beside other ways, then false accusations and power at each size."""
    sweeps, *chosen = [int(word) for word in sys.argv[1:]] or [1000]
    sizes = {size: part for size, part in SIZES.items() if size in (chosen or SIZES)}
    print("nodes  way                         minutes  node-minutes")
    for size in sizes:
        for way in ways(size):
            print(f"{size:5}  {way.name:26}  {way.minutes:7.1f}  {way.node_minutes:12,.0f}")
    print("\nnodes  bad           by    sweeps  found    falsely accused")
    for size, part in sizes.items():
        count = max(int(sweeps * part), 20)
        for heavy in (False, True):
            what = "none, heavy tails" if heavy else "none"
            _show(size, what, "", 10 * count, None, rates(size, 10 * count, 0, 0, 0.0, heavy).false)
        for slow, links, what in ((1, 0, "one node"), (2, 0, "two nodes"), (0, 1, "one link")):
            for by in (0.02, 0.05, 0.10):
                _show(size, what, f"{by:.0%}", count, *rates(size, count, slow, links, by)[:2])
    print("\nnodes  with groups        by    sweeps  found    falsely accused  slow at scale")
    for size, part in sizes.items():
        count = max(int(sweeps * part), 20)
        for heavy in (False, True):
            what = "none, heavy tails" if heavy else "none"
            of_healthy = rates(size, 10 * count, 0, 0, 0.0, heavy, cost=WITH_GROUPS)
            _show(size, what, "", 10 * count, None, *of_healthy[1:])
        for nodes, what in ((1, "one, in groups"), (2, "two, in groups")):
            for by in (0.05, 0.10, 0.20):
                _show(size, what, f"{by:.0%}", count, *rates(size, count, 0, 0, by, cost=WITH_GROUPS, in_groups=nodes))
        for slow, links, what in ((1, 0, "one node"), (0, 1, "one link")):
            _show(size, what, "10%", count, *rates(size, count, slow, links, 0.1, cost=WITH_GROUPS))
        for by in (0.10, 0.20, 0.50):
            of_scale = rates(size, count, 0, 0, by, cost=WITH_GROUPS, at_scale=True)
            _show(size, "large groups", f"{by:.0%}", count, None, *of_scale[1:])


def _show(
    size: int, what: str, by: str, sweeps: int, found: float | None, false: float, at_scale: float | None = None
) -> None:
    power = "" if found is None else f"{found:.3f}"
    scale = "" if at_scale is None else f"{at_scale:15.4f}"
    print(f"{size:5}  {what:18} {by:4} {sweeps:6}  {power:7}  {false:.4f}{scale}", flush=True)


if __name__ == "__main__":
    began = time.monotonic()
    main()
    print(f"\n{time.monotonic() - began:.0f} s")
