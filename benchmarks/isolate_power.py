# SPDX-License-Identifier: GPL-3.0-or-later
"""How often an isolation accuses healthy nodes, and how often it finds bad ones: ``isolate_power.py [SWEEPS [NODES]]``.

Each sweep is simulated with its confirmation, and judged as a real one is. Nodes by themselves give the seven
readings of nodes with one GPU; one probe sends one way between pairs, one reduces over pairs. A pair or group is as
slow as its slower node, and its link. In each reading healthy nodes differ by a standard deviation of 0.5 %, and
samples by 0.5 % more, of pairs and groups by 1 %; the rows of `NOISE` say what else there is. A bad node is slow in all
readings, unless the row says otherwise.
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
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.isolation import confirmation, sweep
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.judge import Judged, judged, suspects_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.means import with_means
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.measured import Measured, Stage
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.models import Models
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.pairs import Pair
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.planned import (
    CONFIRMING_ROUNDS,
    Cost,
    PlannedTests,
    plan_tests,
    smallest_group,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.prober import Prober
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.scale import at_scale as slow_at_scale

SINGLE, ONE_WAY, PAIR, GROUP = "gemm", "send", "all_reduce", "torch_groups_all_reduce"
SINGLES = (SINGLE, "gpu_memory", "to_gpu", "from_gpu", "nccl_all_reduce", "cpu", "memory")
OF_SAMPLE, OF_PAIR = 0.005, 0.01
SAMPLES = 3
COST = Cost(single=60, pair=20)
WITH_GROUPS = Cost(single=60, pair=20, group=60)
# Large fleets do only this share of the sweeps, as each takes longer.
SIZES = {4: 1.0, 8: 1.0, 16: 1.0, 64: 0.5, 1024: 0.02}

Values: t.TypeAlias = "np.ndarray[t.Any, np.dtype[np.float64]]"
Draw: t.TypeAlias = "t.Callable[[np.random.Generator, int], Values]"


def _normal(deviation: float) -> Draw:
    return lambda random, count: random.normal(0, deviation, count)


def _exponential(random: np.random.Generator, count: int) -> Values:
    return random.exponential(0.01, count)


def _tails(random: np.random.Generator, count: int) -> Values:
    return random.lognormal(0, 1, count) * 0.005


def _two_levels(random: np.random.Generator, count: int) -> Values:
    return 0.04 * (random.random(count) < 0.3)


def _bursts(random: np.random.Generator, count: int) -> Values:
    """Return +4 % for a quarter of the nodes, which are neighbours, in a third of the tests."""
    start, found = random.integers(count), np.zeros(count)
    if random.random() < 1 / 3:
        found[(start + np.arange(max(1, count // 4))) % count] = 0.04
    return found


_HALF_A_PERCENT, _NOTHING = _normal(0.005), _normal(0.0)


@dataclass(frozen=True)
class Noise:
    """How healthy nodes differ, and the delay of each in each test.

    ``memory`` is the share of this delay that the next test keeps, ``drift`` the delay of all nodes in the end, and
    ``shared`` the share of the variance between nodes that is the same in all readings.
    """

    own: Draw = _HALF_A_PERCENT
    in_test: Draw = _NOTHING
    memory: float = 0.0
    drift: float = 0.0
    shared: float = 0.0


NOISE = {
    "normal, 0.5 %": Noise(),
    "long tails": Noise(in_test=_tails),
    "autocorrelated": Noise(in_test=_normal(0.01), memory=0.9),
    "bursts of neighbours": Noise(in_test=_bursts),
    "heat, 3 %": Noise(drift=0.03),
    "two levels": Noise(in_test=_two_levels),
    "0.5 %, half shared": Noise(shared=0.5),
    "nodes differ by 1 %": Noise(own=_normal(0.01)),
    "nodes differ by 2 %": Noise(own=_normal(0.02)),
    "nodes differ by 3 %": Noise(own=_normal(0.03)),
    "exponential, 1 %": Noise(own=_exponential),
}
# Tests that a sweep and its confirmation have one after the other, at most.
_MOMENTS = 30


@dataclass
class Fleet:
    """Nodes, of which some are slow, and links, of which some are: each with the logarithm of how much."""

    nodes: list[str]
    random: np.random.Generator
    slow: dict[str, float]
    slow_links: dict[frozenset[str], float]
    noise: Noise = field(default_factory=Noise)
    slow_in_groups: dict[str, float] = field(default_factory=dict)
    slow_sending: dict[str, float] = field(default_factory=dict)
    slow_receiving: dict[str, float] = field(default_factory=dict)
    slow_at_scale: tuple[int, float] = (0, 0.0)
    gone: t.Mapping[str, Exception] = field(default_factory=dict)
    models: t.Mapping[str, str] = field(default_factory=dict)

    def all_models(self) -> Models:
        """Return the models of nodes; all have the same adapters."""
        return Models(self.models)

    def __post_init__(self) -> None:
        """Draw how healthy nodes differ in each probe."""
        self.place = {node: number for number, node in enumerate(self.nodes)}
        slow = np.array([self.slow.get(node, 0.0) for node in self.nodes])
        probes = (*SINGLES, ONE_WAY, PAIR, GROUP)
        of_all = self.noise.own(self.random, len(self.nodes)) * np.sqrt(self.noise.shared)
        alone = np.sqrt(1 - self.noise.shared)
        self.own = {probe: alone * self.noise.own(self.random, len(self.nodes)) + of_all + slow for probe in probes}
        self.moment = 0
        self.kept = self.noise.in_test(self.random, len(self.nodes))

    def _goes_on(self) -> Values:
        """Return the delay of each node in the next test."""
        self.moment += 1
        memory = self.noise.memory
        new = self.noise.in_test(self.random, len(self.nodes))
        self.kept = memory * self.kept + np.sqrt(1 - memory**2) * new
        return t.cast("Values", self.kept + self.noise.drift * min(self.moment / _MOMENTS, 1))

    def measured(
        self, singles: list[str], rounds: list[list[Pair]], stage: Stage, splits: Sequence[Split] = ()
    ) -> list[Measured]:
        """Return what tests would measure."""
        found = self._of_singles(singles, stage) if singles else []
        for pairs in rounds:
            found += self._of_pairs(pairs, stage)
        for groups in splits:
            found += self._of_groups(groups, stage)
        return found

    @property
    def chosen(self) -> Fleet:
        """Return the cost of its tests, as a prober's chosen probes do."""
        return self

    def cost(self) -> Cost:
        """Return how long its tests take."""
        return WITH_GROUPS

    def singles(self, nodes: Sequence[str], stage: Stage) -> list[Measured]:
        """Return the measurements of nodes by themselves."""
        return self.measured(list(nodes), [], stage)

    def pairs(self, pairs: list[Pair], stage: Stage) -> list[Measured]:
        """Return the measurements of a round of pairs."""
        return self.measured([], [pairs], stage)

    def groups(self, groups: Split, stage: Stage) -> list[Measured]:
        """Return the measurements of a round of groups."""
        return self.measured([], [], stage, [groups])

    def _of_singles(self, nodes: list[str], stage: Stage) -> list[Measured]:
        now, found = self._goes_on(), []
        for probe in SINGLES:
            of_samples = self.random.normal(0, OF_SAMPLE, (len(nodes), SAMPLES))
            for node, noise in zip(nodes, of_samples, strict=True):
                costs = self.own[probe][self.place[node]] + now[self.place[node]] + noise
                found.append(Measured(probe, "gpu", (node,), tuple(map(float, np.exp(costs))), stage))
        return found

    def _of_pairs(self, pairs: Sequence[Pair], stage: Stage) -> list[Measured]:
        now, found = self._goes_on(), []
        for pair in pairs:
            for probe, way in ((ONE_WAY, pair), (ONE_WAY, pair[::-1]), (PAIR, pair)):
                ends = [float(self.own[probe][self.place[node]] + now[self.place[node]]) for node in way]
                if probe == ONE_WAY:
                    ends = [
                        ends[0] + self.slow_sending.get(way[0], 0.0),
                        ends[1] + self.slow_receiving.get(way[1], 0.0),
                    ]
                cost = max(ends) + self.slow_links.get(frozenset(pair), 0.0) + self.random.normal(0, OF_PAIR)
                found.append(Measured(probe, "link", way, (float(np.exp(cost)),), stage, one_way=probe == ONE_WAY))
        return found

    def _of_groups(self, groups: Split, stage: Stage) -> list[Measured]:
        now, found = self._goes_on(), []
        least, by = self.slow_at_scale
        for group in groups:
            cost = max(
                self.own[GROUP][self.place[node]] + now[self.place[node]] + self.slow_in_groups.get(node, 0.0)
                for node in group
            )
            cost += max((slow for link, slow in self.slow_links.items() if link <= set(group)), default=0.0)
            cost += (by if len(group) >= least else 0.0) + self.random.normal(0, OF_PAIR)
            found.append(Measured(GROUP, "groups", tuple(group), (float(np.exp(cost)),), stage))
        return found


def swept(fleet: Fleet, tests: PlannedTests) -> list[Measured]:
    """Return what a sweep and its confirmation measure."""
    prober = t.cast("Prober", fleet)
    measured = sweep(prober, fleet.nodes, tests, lambda _text: None)
    return with_means(measured + confirmation(prober, fleet.nodes, measured, tests, lambda _text: None))


def accused(fleet: Fleet, tests: PlannedTests) -> set[frozenset[str]]:
    """Return the nodes and links that are accused after a sweep and its confirmation."""
    return {frozenset({one["node"], one["other"] or one["node"]}) for one in suspects_of(swept(fleet, tests))}


class Rates(t.NamedTuple):
    """In which part of sweeps all that is bad was found, anything else accused, anybody doubted, and groups slow."""

    found: float
    false: float
    doubted: float
    at_scale: float


def rates(
    size: int,
    sweeps: int,
    slow: int = 0,
    links: int = 0,
    by: float = 0.0,
    noise: str = "normal, 0.5 %",
    *,
    cost: Cost = COST,
    in_groups: int = 0,
    at_scale: bool = False,
) -> Rates:
    """Return what is found where so many nodes and links are slow, so many nodes in groups alone, or large groups."""
    nodes = [f"node{number}" for number in range(size)]
    tests = plan_tests(nodes, cost, 60)
    random = np.random.default_rng(size)
    found = false = doubted = scale = 0
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
            NOISE[noise],
            dict.fromkeys(chosen[slow:], effect),
            slow_at_scale=(3 * smallest_group(tests) // 2, effect if at_scale else 0.0),
        )
        bad = {frozenset({node}) for node in chosen} | set(bad_links)
        measured = swept(fleet, tests)
        judgement: Judged = judged(measured)
        named = {frozenset({one["node"], one["other"] or one["node"]}) for one in judgement.suspects}
        found += bad <= named
        false += bool(named - bad)
        doubted += bool(judgement.unproved)
        scale += bool(slow_at_scale(measured, judgement.suspects))
    return Rates(found / sweeps, false / sweeps, doubted / sweeps, scale / sweeps)


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
    print("\nhealthy nodes\nnodes  noise                 sweeps  accused  doubted")
    for size, part in sizes.items():
        count = max(int(sweeps * part), 20)
        for noise in NOISE:
            of = rates(size, count, noise=noise)
            print(f"{size:5}  {noise:20}  {count:6}  {of.false * count:7.0f}  {of.doubted * count:7.0f}", flush=True)
    print("\nnodes  noise                 bad         by    sweeps  found  falsely accused")
    for size, part in sizes.items():
        count = max(int(sweeps * part / 4), 20)
        for noise in ("normal, 0.5 %", "nodes differ by 1 %"):
            for slow, links, what in ((1, 0, "one node"), (2, 0, "two nodes"), (0, 1, "one link")):
                for by in (0.05, 0.10, 0.20):
                    of = rates(size, count, slow, links, by, noise)
                    _show(size, noise, what, by, count, of)
    columns = "nodes  noise                 bad             by    sweeps  found  falsely accused  slow at scale"
    print(f"\nwith groups\n{columns}")
    for size, part in ((size, part) for size, part in sizes.items() if size >= 8):
        count = max(int(sweeps * part / 4), 20)
        noise = "normal, 0.5 %"
        _show(size, noise, "none", 0, count, rates(size, count, cost=WITH_GROUPS), groups=True)
        for by in (0.10, 0.20):
            of = rates(size, count, by=by, cost=WITH_GROUPS, in_groups=1)
            _show(size, noise, "one, in groups", by, count, of, groups=True)
        for by in (0.20, 0.50):
            of = rates(size, count, by=by, cost=WITH_GROUPS, at_scale=True)
            _show(size, noise, "large groups", by, count, of, groups=True)


def _show(size: int, noise: str, bad: str, by: float, sweeps: int, of: Rates, *, groups: bool = False) -> None:
    scale = f"  {of.at_scale * sweeps:13.0f}" if groups else ""
    found, false = of.found * sweeps, of.false * sweeps
    print(f"{size:5}  {noise:20}  {bad:14}  {by:4.0%}  {sweeps:6}  {found:5.0f}  {false:15.0f}{scale}", flush=True)


if __name__ == "__main__":
    began = time.monotonic()
    main()
    print(f"\n{time.monotonic() - began:.0f} s")
