# SPDX-License-Identifier: GPL-3.0-or-later
"""How far each part of a node, each node and each link is from the others, probe by probe."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterable, Sequence

import numpy as np

from ...module_utils.node.probes.known import Of
from .groups import Splits, by_size
from .measured import Measured, Score, Stage, Unit
from .pairs import Meetings
from .robust import LEAST_SPREAD, Ending, Values, deviations_needed, ending, spread

# Who is slower than the last of the others by less than this fraction is not worth a repair.
LEAST_EFFECT = 0.03
# In how many of 100 sweeps of healthy nodes anyone may be accused.
FALSE_ACCUSATIONS = 0.01
# Real nodes are less regular than a model of them.
_MARGIN = 0.3
# A suspicion costs a test, an accusation a node: so this part of the deviations that an accusation needs is enough.
SUSPECTED = 0.6
_LEAST_UNITS = 3
# A node that is so many deviations from the others in its groups is measured before its partners are.
_TAKEN_OUT = 3.0
# A failed measurement counts as this much slower, so that a node whose pairs all fail stands out like a slow one.
_BROKEN = math.log(100.0)
_IS_BROKEN = _BROKEN / 2
# The effects that pairs show have longer tails than a normal distribution, by benchmarks/isolate_power.py.
_OF_PAIRS = 1.15


class Scored(t.NamedTuple):
    """The scores of one probe, and the basis of comparison: the usual cost and, for pairs, each end's share.

    ``of`` is the kind of unit that the probe tests, and so decides which tests confirm its scores.
    """

    of: Of
    scores: list[Score]
    usual: float
    ends: dict[Unit, float]


def scores_of(measured: Iterable[Measured], stage: Stage = "sweep", least: float = LEAST_EFFECT) -> dict[str, Scored]:
    """Return the scores of all units by probe; the rate of false accusations is divided among the probes.

    A bad unit is slower than the last good one by at least the fraction ``least``.

    Probes that are `unmeasured` have none: nobody stands out by what fails everywhere.
    """
    of_stage = [one for one in measured if one.stage == stage]
    without = unmeasured(of_stage, stage)
    by_probe: dict[str, list[Measured]] = {}
    for one in of_stage:
        if one.probe not in without and (one.samples or one.problem):
            by_probe.setdefault(one.probe, []).append(one)
    # A probe of pairs judges nodes and links.
    families = sum(2 if _of(found) == "pairs" else 1 for found in by_probe.values())
    rate = _MARGIN * FALSE_ACCUSATIONS / max(families, 1)
    ways = {"nodes": _of_singles, "pairs": _of_pairs, "groups": _of_groups}
    return {probe: ways[_of(found)](probe, found, rate, math.log1p(least)) for probe, found in by_probe.items()}


def unmeasured(measured: Iterable[Measured], stage: Stage = "sweep") -> dict[str, str]:
    """Return the probes that failed on all nodes, or in all pairs or groups, each with the problem of the first one."""
    of_stage = [one for one in measured if one.stage == stage]
    works = {one.probe for one in of_stage if not one.problem}
    nodes: dict[str, set[str]] = {}
    for one in of_stage:
        nodes.setdefault(one.probe, set()).update(one.nodes)
    return {
        one.probe: one.problem for one in reversed(of_stage) if one.probe not in works and len(nodes[one.probe]) > 1
    }


def _of(found: Sequence[Measured]) -> Of:
    """Return the kind of unit that a probe tests, by the most nodes that it was measured with."""
    most = max(len(one.nodes) for one in found)
    return "nodes" if most == 1 else "pairs" if most == 2 else "groups"


def _band(effects: Values, rate: float, least: float, tails: float = 1.0) -> tuple[float, float, Ending]:
    """Return the robust standard deviation of effects, how many of them are needed, and where the good ones end."""
    end = ending(effects, least, rate)
    if len(effects) < _LEAST_UNITS:
        return LEAST_SPREAD, math.inf, end
    return spread(effects), tails * deviations_needed(len(effects), rate), end


def _of_singles(probe: str, found: Sequence[Measured], rate: float, least: float) -> Scored:
    good = [one for one in found if one.samples]
    costs = np.array([one.cost for one in good])
    usual = float(np.median(costs)) if len(costs) else math.nan
    band = _band(costs - usual, rate, least)
    scores = [
        Score(probe, Unit(one.nodes, one.part), float(cost - usual), *band)
        for one, cost in zip(good, costs, strict=True)
    ]
    scores += [
        Score(probe, Unit(one.nodes, one.part), math.inf, *band, one.problem) for one in found if not one.samples
    ]
    return Scored("nodes", scores, usual, {})


def _of_pairs(probe: str, found: Sequence[Measured], rate: float, least: float) -> Scored:
    ends = list(dict.fromkeys(end for one in found for end in one.ends))
    place = {end: number for number, end in enumerate(ends)}
    meetings = Meetings([(place[one.ends[0]], place[one.ends[1]]) for one in found], len(ends))
    costs = _costs(found)
    fit = meetings.fit(costs)
    # A delay of all that send looks like a delay of all that receive, so each end is compared with its like.
    of_parts = {
        part: float(np.median([by for by, end in zip(fit.nodes, ends, strict=True) if end.part == part]))
        for part in {end.part for end in ends}
    }
    of_ends = np.array([by - of_parts[end.part] for by, end in zip(fit.nodes, ends, strict=True)])
    usual = fit.usual + sum(of_parts[end.part] for end in found[0].ends)
    problems = {end: one.problem for one in found if one.problem for end in one.ends}
    deviation, needed, end = _band(of_ends, rate, least, _OF_PAIRS)
    # A pair is as slow as its slower node, so the faster half of the nodes looks alike; the slower half does not.
    slower = of_ends[of_ends >= 0]
    wider = Ending(end.last, _OF_PAIRS * end.gap)
    band = (max(deviation, spread(np.concatenate([slower, -slower]))), needed, wider)
    scores = [
        Score(probe, end, float(effect), *band, problems.get(end, "") if effect > _IS_BROKEN else "")
        for end, effect in zip(ends, of_ends, strict=True)
    ]
    # A link between fast nodes is not slow while it takes no longer than usual.
    of_links = np.minimum(fit.links - np.median(fit.links), costs - usual)
    band = _band(of_links, rate, least, _OF_PAIRS)
    scores += [
        Score(probe, one.link, float(effect), *band, one.problem) for one, effect in zip(found, of_links, strict=True)
    ]
    return Scored("pairs", scores, usual, dict(zip(ends, map(float, of_ends), strict=True)))


def _of_groups(probe: str, found: Sequence[Measured], rate: float, least: float) -> Scored:
    smallest = list(by_size(found).values())[-1]
    of_size = [one for split in smallest for one in split]
    names = list(dict.fromkeys(name for one in of_size for name in one.nodes))
    place = {name: number for number, name in enumerate(names)}
    splits = Splits([[[place[name] for name in one.nodes] for one in split] for split in smallest], len(names))
    cost_of = dict(zip(map(id, of_size), _costs(of_size), strict=True))
    rows = [[cost_of[id(one)] for one in split] for split in smallest]
    costs = np.array([[*row, *[math.nan] * (splits.parts - len(row))] for row in rows])

    def stands_out(effect: float, others: Values) -> bool:
        return effect - float(np.median(others)) >= max(SUSPECTED * least, _TAKEN_OUT * spread(others))

    of_nodes = splits.fit(costs, stands_out)
    deviation, needed, end = _band(of_nodes, rate, least)
    # One group is compared with nothing.
    band = (deviation, needed if splits.parts > 1 else math.inf, end)
    problems = {name: one.problem for one in of_size if one.problem for name in one.nodes}
    scores = [
        Score(
            probe,
            Unit((name,), found[0].part),
            float(effect),
            *band,
            problems.get(name, "") if effect > _IS_BROKEN else "",
        )
        for name, effect in zip(names, of_nodes, strict=True)
    ]
    return Scored("groups", scores, float(np.nanmedian(costs)), {})


def _costs(found: Sequence[Measured]) -> Values:
    """Return the logarithms of all costs; a failure counts as much longer than usual."""
    good = [one.cost for one in found if one.samples]
    failed = float(np.median(good)) + _BROKEN if good else _BROKEN
    return np.array([one.cost if one.samples else failed for one in found])
