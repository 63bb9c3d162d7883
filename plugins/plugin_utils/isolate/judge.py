# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is suspected, which tests confirm or clear them, and who is slow or broken, and by how much.

Nobody is accused by the sweep alone, and nobody by the confirmation alone. Both results together have to be farther
from the others than any healthy node gets in 99 of 100 sweeps, and the confirmation by itself nearly as far: that drops
a slowness that came and went.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from ...module_utils.node.probes.known import Of
from ..text.isolation import isolation_finding
from .groups import Split, excesses_of, with_proven
from .measured import Measured, Score, Suspect, Unit, Unproved
from .pairs import Pair, against
from .planned import CONFIRMING_ROUNDS
from .robust import Values
from .score import SUSPECTED, Scored, scores_of

_REFERENCES = 8


class Confirmation(t.NamedTuple):
    """The tests that confirm or clear suspects: nodes by themselves, and rounds of pairs and of groups."""

    singles: list[str]
    pairs: list[list[Pair]]
    groups: list[Split]


def suspects_of_sweep(scored: Mapping[str, Scored], before: Collection[str] = ()) -> list[Score]:
    """Return the scores of the units to test again, the furthest from the others first.

    Earlier suspects (``before``) are tested again, however near they are. A link is not a suspect if one of its nodes
    is.
    """
    scores = [score for of_probe in scored.values() for score in of_probe.scores]
    far = [score for score in scores if score.nearness >= SUSPECTED or (score.broken and len(score.unit.nodes) == 1)]
    slow_nodes = {(score.probe, score.unit.nodes[0]) for score in far if len(score.unit.nodes) == 1}
    alone = [score for score in far if not _has_slow_node(score, slow_nodes)]
    alone += [score for score in scores if len(score.unit.nodes) == 1 and score.unit.nodes[0] in before]
    return sorted(dict.fromkeys(alone), key=lambda score: -score.nearness)


def _has_slow_node(score: Score, slow: set[tuple[str, str]]) -> bool:
    return len(score.unit.nodes) == 2 and any((score.probe, node) in slow for node in score.unit.nodes)


def best_references(scored: Mapping[str, Scored], nodes: Sequence[str], suspects: Iterable[Unit]) -> list[str]:
    """Return the nodes that are nearest to the others in everything that was measured, without suspects."""
    worst = dict.fromkeys(nodes, 0.0)
    for of_probe in scored.values():
        for score in of_probe.scores:
            for node in score.unit.nodes:
                worst[node] = max(worst[node], abs(score.nearness))
    barred = {node for unit in suspects for node in unit.nodes}
    return sorted((node for node in nodes if node not in barred), key=worst.__getitem__)


def confirming_tests(
    suspects: Sequence[Score], scored: Mapping[str, Scored], good: Sequence[str], group: int = 0
) -> Confirmation:
    """Return the tests of suspects, given the ``good`` nodes to compare with, best first, and the size of a group."""
    names = list(dict.fromkeys(node for score in suspects for node in score.unit.nodes))
    links = list(dict.fromkeys(s.unit.nodes for s in suspects if len(s.unit.nodes) == 2))
    by = {of: {node for s in suspects if scored[s.probe].of == of for node in s.unit.nodes} for of in t.get_args(Of)}
    in_pairs, in_groups = ([name for name in names if name in by[of]] for of in ("pairs", "groups"))
    return Confirmation(
        [*names, *good[:_REFERENCES]] if by["nodes"] else [],
        [*CONFIRMING_ROUNDS * _disjoint(links), *against(in_pairs, good, CONFIRMING_ROUNDS)] if in_pairs else [],
        with_proven(in_groups, good, group, CONFIRMING_ROUNDS),
    )


def _disjoint(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Return pairs in rounds, with no node in two pairs of a round."""
    rounds: list[list[Pair]] = []
    for pair in pairs:
        free = next((one for one in rounds if not {node for met in one for node in met} & set(pair)), None)
        if free is None:
            rounds.append([pair])
        else:
            free.append(pair)
    return rounds


_ALONE = 0.7
# An effect counts as gone if the second test shows less than this share of it.
_CAME_BACK = 0.5
_DRAWS = 1000
_INTERVAL = (2.5, 97.5)
Verdict: t.TypeAlias = t.Literal["good", "slow", "broken", "untested"]


def suspects_of(measured: Sequence[Measured], before: Collection[str] = ()) -> list[Suspect]:
    """Return who is slow or broken by everything that was measured, in the order of how much slower they are.

    Nodes that were suspects ``before`` were tested again in any case, and need as much proof as any other.
    """
    scored = scores_of(measured)
    again = [one for one in measured if one.stage == "confirmation"]
    found = [
        suspect for score in suspects_of_sweep(scored, before) if (suspect := _accuse(score, scored, measured, again))
    ]
    return sorted(_worst_of_each(found), key=lambda one: -(math.inf if one["slower_by"] is None else one["slower_by"]))


def unproved_of(measured: Sequence[Measured], suspects: Iterable[Suspect]) -> list[Unproved]:
    """Return who was slow both times without being one of the ``suspects``, the slowest first."""
    scored = scores_of(measured)
    again = [one for one in measured if one.stage == "confirmation"]
    accused = {node for one in suspects for node in (one["node"], one["other"]) if node}
    found: dict[Unit, Unproved] = {}
    for score in suspects_of_sweep(scored):
        effect_again = _effect_again(score, scored[score.probe], again)
        if score.broken or effect_again is None or score.proof is None or accused & set(score.unit.nodes):
            continue
        if effect_again >= _CAME_BACK * score.effect:
            node, *other = score.unit.nodes
            found.setdefault(
                score.unit,
                {
                    "node": node,
                    "other": other[0] if other else None,
                    "part": score.unit.part,
                    "probe": score.probe,
                    "slower_by": math.expm1((score.effect + effect_again) / 2),
                    "proof": score.proof,
                },
            )
    return sorted(found.values(), key=lambda one: -one["slower_by"])


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
    score: Score, scored: Mapping[str, Scored], measured: Iterable[Measured], again: Sequence[Measured]
) -> Suspect | None:
    unit, of_probe = score.unit, scored[score.probe]
    failed = [one for one in again if _is_of(one, unit, score.probe) and one.problem]
    own_again = _again(score, of_probe, again)
    effect_again = _effect_again(score, of_probe, again)
    if score.broken or failed:
        return _broken(score, failed) if failed and effect_again is None else None
    if effect_again is None:
        return None
    together, enough = (score.effect + effect_again) / 2, score.needed * score.spread
    if together < enough or effect_again < _ALONE * enough:
        return None
    in_sweep = _effects(unit, score.probe, [one for one in measured if one.stage == "sweep"], of_probe, of_probe.usual)
    low, high = _interval(np.concatenate([in_sweep, own_again]))
    values = {
        "times": math.exp(score.effect),
        "times_again": math.exp(effect_again),
        "deviations": together / score.spread,
        "needed": score.needed,
    }
    # The effect of a link comes from the fit, so it can lie a little outside the range of the link's own samples.
    low, high = min(low, together), max(high, together)
    return _suspect(score, math.expm1(together), (math.expm1(low), math.expm1(high)), values)


def _again(score: Score, of_probe: Scored, again: Sequence[Measured]) -> Values:
    return _effects(score.unit, score.probe, again, of_probe, _usual_again(score, again, of_probe))


def _effect_again(score: Score, of_probe: Scored, again: Sequence[Measured]) -> float | None:
    """Return the extra cost of a unit when it was tested again, None if it was not."""
    own_again = _again(score, of_probe, again)
    if not own_again.size:
        return None
    # Each repeated test of a pair or group counts: a slowness that comes and goes is no reason to accuse anybody.
    return float(np.median(own_again) if of_probe.of == "nodes" else np.min(own_again))


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
    if len(unit.nodes) == 2:
        return set(one.nodes) == set(unit.nodes)
    return unit.nodes[0] in one.nodes and (len(one.nodes) > 1 or one.part == unit.part)


def _usual_again(score: Score, again: Sequence[Measured], of_probe: Scored) -> float:
    """Return the usual cost of a probe in the confirmation: the cost of proven nodes by themselves."""
    suspects = {other.unit.nodes for other in of_probe.scores if other.nearness >= 1} | {score.unit.nodes}
    costs = [
        one.cost
        for one in again
        if one.probe == score.probe and len(one.nodes) == 1 and one.samples and one.nodes not in suspects
    ]
    return float(np.median(costs)) if costs else of_probe.usual


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
            others = sum(of_probe.nodes.get(node, 0.0) for node in one.nodes if (node,) != unit.nodes)
            # See scores_of: fast nodes do not make their link slow.
            effects.append(one.cost - usual - (others if len(unit.nodes) == 1 else max(0.0, others)))
    return np.array(effects)


def _interval(effects: Values) -> tuple[float, float]:
    """Return the bootstrap's interval of the median at 95 %."""
    draws = np.random.default_rng(0).choice(effects, (_DRAWS, len(effects)))
    low, high = np.percentile(np.median(draws, axis=1), _INTERVAL)
    return float(low), float(high)


def _worst_of_each(found: Iterable[Suspect]) -> list[Suspect]:
    """Return one entry for each part of a node, and none for a link that an accused node explains: one as slow."""
    kept: dict[tuple[str, str | None, str], Suspect] = {}
    for one in found:
        key = (one["node"], one["other"], one["part"])
        if key not in kept or _slower_by(one) > _slower_by(kept[key]):
            kept[key] = one
    accused: dict[str, float] = {}
    for one in kept.values():
        if one["other"] is None:
            accused[one["node"]] = max(_slower_by(one), accused.get(one["node"], 0.0))
    return [
        one
        for one in kept.values()
        if one["other"] is None or _slower_by(one) > max(accused.get(one["node"], 0.0), accused.get(one["other"], 0.0))
    ]


def _slower_by(one: Suspect) -> float:
    return math.inf if one["slower_by"] is None else one["slower_by"]
