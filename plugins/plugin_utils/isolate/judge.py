# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is suspected, which tests confirm or clear them, and who is slow or broken, and by how much.

Nobody is accused by the sweep alone, and nobody by the confirmation alone. Both results together have to be farther
from the others than any healthy node gets in 99 of 100 sweeps, and the confirmation by itself nearly as far: that drops
a slowness that came and went. A link is accused only if both of its nodes are good with others.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from ...module_utils.node.probes.known import Of
from ..text.isolation import isolation_finding
from .groups import Split, excesses_of, with_proven
from .means import MEAN, over_tests
from .measured import Measured, Score, Suspect, Unit, Unproved
from .pairs import Pair, confirming_rounds
from .planned import CONFIRMING_ROUNDS, Cost
from .robust import Values
from .score import LEAST_EFFECT, SUSPECTED, Scored, scores_of

_REFERENCES = 8
_MANY = 1 / 8
# Fewer say less about the usual cost than the sweep does.
_LEAST_REFERENCES = 2


class Confirmation(t.NamedTuple):
    """The tests that confirm or clear suspects: nodes by themselves, and rounds of pairs and of groups."""

    singles: list[str]
    pairs: list[list[Pair]]
    groups: list[Split]

    def price(self, cost: Cost, times: int) -> tuple[float, float]:
        """Return the most seconds and node-minutes of these tests, with so many of nodes by themselves."""
        times = times if self.singles else 0
        seconds = times * cost.single + len(self.pairs) * cost.pair + len(self.groups) * cost.group
        node_seconds = (
            times * len(self.singles) * cost.single
            + sum(2 * len(pairs) for pairs in self.pairs) * cost.pair
            + sum(len(group) for split in self.groups for group in split) * cost.group
        )
        return seconds, node_seconds / 60


def suspects_of_sweep(scored: Mapping[str, Scored], before: Collection[str] = ()) -> list[Score]:
    """Return the scores of the units to test again, in the order of their evidence; the budget may end before the last.

    Earlier suspects (``before``) are tested again, however near they are. A link is not a suspect if one of its nodes
    is one by the same probe, and comes last if one is by another.
    """
    scores = [score for of_probe in scored.values() for score in of_probe.scores]
    far = [score for score in scores if score.nearness >= SUSPECTED or (score.broken and len(score.unit.nodes) == 1)]
    slow_nodes = {(score.probe, score.unit.nodes[0]) for score in far if len(score.unit.nodes) == 1}
    alone = [score for score in far if not _has_slow_node(score, slow_nodes)]
    alone += [score for score in scores if len(score.unit.nodes) == 1 and score.unit.nodes[0] in before]
    nodes = {node for _probe, node in slow_nodes}

    def of_slow_node(score: Score) -> bool:
        return len(score.unit.nodes) == 2 and bool(nodes & set(score.unit.nodes))

    return sorted(dict.fromkeys(alone), key=lambda score: (of_slow_node(score), -score.nearness))


def _has_slow_node(score: Score, slow: set[tuple[str, str]]) -> bool:
    return len(score.unit.nodes) == 2 and any((score.probe, node) in slow for node in score.unit.nodes)


def best_references(scored: Mapping[str, Scored], nodes: Sequence[str], suspects: Iterable[Unit]) -> list[str]:
    """Return the nodes that are nearest to the others in everything that was measured, without suspects."""
    worst = dict.fromkeys(nodes, 0.0)
    for of_probe in scored.values():
        for score in of_probe.scores:
            for node in score.unit.nodes:
                worst[node] = max(worst[node], abs(score.effect) / score.spread)
    barred = {node for unit in suspects for node in unit.nodes}
    return sorted((node for node in nodes if node not in barred), key=worst.__getitem__)


def confirming_tests(
    suspects: Sequence[Score], scored: Mapping[str, Scored], good: Sequence[str], group: int = 0
) -> Confirmation:
    """Return the tests of suspects, given the ``good`` nodes to compare with, best first, and the size of a group.

    Who comes first among the suspects is in the first rounds.
    """
    names = list(dict.fromkeys(node for score in suspects for node in score.unit.nodes))
    by = {of: {node for s in suspects if scored[s.probe].of == of for node in s.unit.nodes} for of in t.get_args(Of)}
    in_groups = [name for name in names if name in by["groups"]]
    in_pairs = [score.unit.nodes for score in suspects if scored[score.probe].of == "pairs"]
    # Of few nodes all are tested again, because noise hides more there, and so are all if many were slow for a moment,
    # because some of them will be so again, see `over_tests`.
    is_all = len(good) <= 2 * _REFERENCES or len(by["nodes"]) > _MANY * (len(names) + len(good))
    return Confirmation(
        [*names, *(good if is_all else good[:_REFERENCES])] if by["nodes"] else [],
        confirming_rounds(list(dict.fromkeys(in_pairs)), good, CONFIRMING_ROUNDS, _REFERENCES // 2),
        with_proven(in_groups, good, group, CONFIRMING_ROUNDS),
    )


_ALONE = 0.6
# An effect counts as gone if the second test shows less than this share of it.
_CAME_BACK = 0.5
_DRAWS = 1000
_INTERVAL = (2.5, 97.5)
Verdict: t.TypeAlias = t.Literal["good", "slow", "broken", "untested"]


class Judged(t.NamedTuple):
    """Who is bad, the worst first, and who may be but is not proved to be, the slowest first."""

    suspects: list[Suspect]
    unproved: list[Unproved]


def judged(measured: Sequence[Measured], before: Collection[str] = (), least: float = LEAST_EFFECT) -> Judged:
    """Return who is bad and who may be by everything that was measured.

    Nodes that were suspects ``before`` were tested again in any case, and need as much proof as any other. A bad unit
    is slower than the last good one by at least the fraction ``least``.
    """
    means, repeated = over_tests(measured)
    scored = scores_of(means, least=least)
    again = [one for one in measured if one.stage == "confirmation"]
    tested = suspects_of_sweep(scored, before)
    found = [suspect for score in tested if (suspect := _accuse(score, scored, measured, again, repeated))]
    by_itself = {one["node"] for one in found if scored[one["probe"]].of == "nodes" and one["probe"] != MEAN}
    # A mean says nothing more of a node that one of its readings accuses.
    found = [one for one in found if one["probe"] != MEAN or one["node"] not in by_itself]
    of_nodes = [one for one in found if one["other"] is None]
    bad = {one["node"] for one in of_nodes}
    doubts = [
        (score, doubt)
        for score in tested
        if score.unit.nodes[0] not in before or score.nearness >= SUSPECTED
        if (doubt := _doubt(score, scored[score.probe], again, least, repeated))
    ]
    doubtful = bad | {score.unit.nodes[0] for score, _doubt in doubts if len(score.unit.nodes) == 1}
    # A link is accused only between nodes that are good with others.
    suspects = [one for one in found if one["other"] is None or not {one["node"], one["other"]} & doubtful]
    accused = {node for one in suspects for node in (one["node"], one["other"]) if node}
    unproved = {score.unit.nodes: doubt for score, doubt in reversed(doubts) if not accused & set(score.unit.nodes)}
    return Judged(sorted(_worst_of_each(suspects), key=_order), sorted(unproved.values(), key=_order))


def suspects_of(
    measured: Sequence[Measured], before: Collection[str] = (), least: float = LEAST_EFFECT
) -> list[Suspect]:
    """Return who is bad by everything that was measured, see `judged`."""
    return judged(measured, before, least).suspects


def _doubt(
    score: Score, of_probe: Scored, again: Sequence[Measured], least: float, repeated: Collection[str]
) -> Unproved | None:
    """Return a unit that was slow both times, or was not tested again; None if nothing is left of its slowness."""
    effect_again = _effect_again(score, of_probe, again)
    failed = any(_is_of(one, score.unit, score.probe) and one.problem for one in again)
    together = _together(score, of_probe, again, repeated)
    # Less than this is only the last of the good ones.
    if failed or score.proof is None or together - score.ending.last < math.log1p(least):
        return None
    if effect_again is not None and effect_again < _CAME_BACK * score.effect:
        return None
    node, *other = score.unit.nodes
    return {
        "node": node,
        "other": other[0] if other else None,
        "one_way": score.unit.one_way,
        "part": score.unit.part,
        "probe": score.probe,
        "slower_by": None if score.broken else math.expm1(together),
        "proof": score.proof,
        "tested_again": effect_again is not None,
    }


def _order(one: Suspect | Unproved) -> float:
    return -math.inf if one["slower_by"] is None else -one["slower_by"]


def verdicts_of(nodes: Iterable[str], measured: Iterable[Measured], suspects: Iterable[Suspect]) -> dict[str, Verdict]:
    """Return the verdict of each node: a node is not slow because a link of it is."""
    tested = {node for one in measured for node in one.nodes}
    of_nodes = [one for one in suspects if one["other"] is None]
    broken = {one["node"] for one in of_nodes if one["verdict"] == "broken"}
    slow = {one["node"] for one in of_nodes}
    return {
        node: "broken" if node in broken else "slow" if node in slow else "good" if node in tested else "untested"
        for node in nodes
    }


def _accuse(
    score: Score,
    scored: Mapping[str, Scored],
    measured: Iterable[Measured],
    again: Sequence[Measured],
    repeated: Collection[str],
) -> Suspect | None:
    unit, of_probe = score.unit, scored[score.probe]
    failed = [one for one in again if _is_of(one, unit, score.probe) and one.problem]
    own_again = _again(score, of_probe, again)
    effect_again = _effect_again(score, of_probe, again)
    if score.broken or failed:
        return _broken(score, failed) if failed and effect_again is None else None
    if effect_again is None:
        return None
    together = _together(score, of_probe, again, repeated)
    if together < score.enough() or effect_again < score.enough(_ALONE):
        return None
    in_sweep = _effects(unit, score.probe, [one for one in measured if one.stage == "sweep"], of_probe, of_probe.usual)
    low, high = _interval(np.concatenate([in_sweep, own_again]))
    values = {
        "times": math.exp(score.effect),
        "times_again": math.exp(effect_again),
        "deviations": together / score.spread,
        "needed": score.needed,
        "beyond": math.expm1(together - score.ending.last),
    }
    # The effect of a link comes from the fit, so it can lie a little outside the range of the link's own samples.
    low, high = min(low, together), max(high, together)
    return _suspect(score, math.expm1(together), (math.expm1(low), math.expm1(high)), values)


def _again(score: Score, of_probe: Scored, again: Sequence[Measured]) -> Values:
    return _effects(score.unit, score.probe, again, of_probe, _usual_again(score, again, of_probe))


def _effect_again(score: Score, of_probe: Scored, again: Sequence[Measured]) -> float | None:
    """Return the extra cost of a unit in the best of its repeated tests, None if it was not tested again.

    A slowness that comes and goes is no reason to accuse anybody.
    """
    return min(_effects_again(score, of_probe, again), default=None)


def _together(score: Score, of_probe: Scored, again: Sequence[Measured], repeated: Collection[str]) -> float:
    """Return the extra cost of a unit in all of its tests: of a pair or group in the sweep and in the best test.

    The scores of readings that all nodes ``repeated`` are already of all tests.
    """
    if score.probe in repeated:
        return score.effect
    effects = _effects_again(score, of_probe, again)
    if effects and of_probe.of != "nodes":
        effects = [min(effects)]
    return (score.effect + sum(effects)) / (1 + len(effects))


def _effects_again(score: Score, of_probe: Scored, again: Sequence[Measured]) -> list[float]:
    """Return the extra cost of a unit in each of its repeated tests."""
    if of_probe.of != "nodes":
        return [float(effect) for effect in _again(score, of_probe, again)]
    usual = _usual_again(score, again, of_probe)
    return [one.cost - usual for one in again if one.samples and _is_of(one, score.unit, score.probe)]


def _broken(score: Score, failed: Sequence[Measured]) -> Suspect:
    return _suspect(score, None, None, {"said": failed[-1].problem})


def _suspect(
    score: Score, slower_by: float | None, interval: tuple[float, float] | None, values: dict[str, t.Any]
) -> Suspect:
    nodes, verdict = score.unit.nodes, "broken" if slower_by is None else "slow"
    evidence = isolation_finding("tested_again", verdict, probe=score.probe, **values)
    return {
        "node": nodes[0],
        "other": nodes[1] if len(nodes) == 2 else None,
        "one_way": score.unit.one_way,
        "part": score.unit.part,
        "probe": score.probe,
        "verdict": t.cast("t.Literal['slow', 'broken']", verdict),
        "slower_by": slower_by,
        "interval": interval,
        "evidence": evidence["message"],
        "values": evidence["values"],
    }


def _is_of(one: Measured, unit: Unit, probe: str) -> bool:
    if one.probe != probe:
        return False
    if len(unit.nodes) == 1:
        return unit in one.ends
    return one.nodes == unit.nodes if unit.one_way else set(one.nodes) == set(unit.nodes)


def _usual_again(score: Score, again: Sequence[Measured], of_probe: Scored) -> float:
    """Return the usual cost of a probe in the confirmation: what proven nodes took, alone or with each other."""
    suspects = {node for other in of_probe.scores if other.nearness >= SUSPECTED for node in other.unit.nodes}
    costs = [
        one.cost - sum(of_probe.ends.get(end, 0.0) for end in one.ends)
        for one in again
        if one.probe == score.probe and one.samples and not (suspects | set(score.unit.nodes)) & set(one.nodes)
    ]
    return float(np.median(costs)) if len(costs) >= _LEAST_REFERENCES else of_probe.usual


def _effects(unit: Unit, probe: str, measured: Iterable[Measured], of_probe: Scored, usual: float) -> Values:
    """Return the extra cost of a unit: by each sample of its own, or by each pair or group it was in."""
    if of_probe.of == "groups":
        slow = {score.unit.nodes[0] for score in of_probe.scores if score.nearness >= SUSPECTED} - {unit.nodes[0]}
        return np.array(excesses_of(unit.nodes[0], [one for one in measured if one.probe == probe], slow))
    effects: list[float] = []
    for one in measured:
        if not _is_of(one, unit, probe) or not one.samples:
            continue
        if len(one.nodes) == 1:
            effects += [math.log(sample) - usual for sample in one.samples]
        else:
            others = sum(of_probe.ends.get(end, 0.0) for end in one.ends if end != unit)
            # See scores_of: fast nodes do not make their link slow.
            effects.append(one.cost - usual - (others if len(unit.nodes) == 1 else max(0.0, others)))
    return np.array(effects)


def _interval(effects: Values) -> tuple[float, float]:
    """Return the bootstrap's interval of the median at 95 %."""
    draws = np.random.default_rng(0).choice(effects, (_DRAWS, len(effects)))
    low, high = np.percentile(np.median(draws, axis=1), _INTERVAL)
    return float(low), float(high)


def _worst_of_each(found: Iterable[Suspect]) -> list[Suspect]:
    """Return one entry for each part of a node, and for each link."""
    kept: dict[tuple[str, str | None, str], Suspect] = {}
    for one in found:
        key = (one["node"], one["other"], one["part"])
        if key not in kept or _slower_by(one) > _slower_by(kept[key]):
            kept[key] = one
    for node, other, part in list(kept):
        back = kept.get((other or "", node, part))
        if back and (node, other, part) in kept and _slower_by(back) <= _slower_by(kept[node, other, part]):
            # It is slow both ways.
            kept[node, other, part] = {**kept[node, other, part], "one_way": False}
            del kept[other or "", node, part]
    return list(kept.values())


def _slower_by(one: Suspect) -> float:
    return math.inf if one["slower_by"] is None else one["slower_by"]
