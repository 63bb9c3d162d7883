# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is suspected after a sweep, and with which tests a suspicion is confirmed or dropped."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Iterable, Mapping, Sequence

from ...module_utils.node.probes.known import Of
from .measured import Score, Unit
from .planned import CONFIRMING_ROUNDS
from .rounds import Pair, against
from .score import SUSPECTED, Scored
from .splits import Split, with_proven

_REFERENCES = 8


class Confirmation(t.NamedTuple):
    """The tests that confirm or clear suspects: nodes by themselves, and rounds of pairs and of groups."""

    singles: list[str]
    pairs: list[list[Pair]]
    groups: list[Split]


def suspected(scored: Mapping[str, Scored], before: Collection[str] = ()) -> list[Score]:
    """Return the scores of who is to be tested again, the furthest from the others first.

    Nodes that were suspects ``before`` are, however near they are. A link is no suspect beside one of its nodes.
    """
    scores = [score for of_probe in scored.values() for score in of_probe.scores]
    far = [score for score in scores if score.nearness >= SUSPECTED or (score.broken and len(score.unit.nodes) == 1)]
    slow_nodes = {(score.probe, score.unit.nodes[0]) for score in far if len(score.unit.nodes) == 1}
    alone = [score for score in far if not _has_slow_node(score, slow_nodes)]
    alone += [score for score in scores if len(score.unit.nodes) == 1 and score.unit.nodes[0] in before]
    return sorted(dict.fromkeys(alone), key=lambda score: -score.nearness)


def _has_slow_node(score: Score, slow: set[tuple[str, str]]) -> bool:
    return len(score.unit.nodes) == 2 and any((score.probe, node) in slow for node in score.unit.nodes)


def proven(scored: Mapping[str, Scored], nodes: Sequence[str], suspects: Iterable[Unit]) -> list[str]:
    """Return the nodes that are nearest to the others in everything that was measured, without suspects."""
    worst = dict.fromkeys(nodes, 0.0)
    for of_probe in scored.values():
        for score in of_probe.scores:
            for node in score.unit.nodes:
                worst[node] = max(worst[node], abs(score.nearness))
    barred = {node for unit in suspects for node in unit.nodes}
    return sorted((node for node in nodes if node not in barred), key=worst.__getitem__)


def confirmation(
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
    """Return pairs in rounds in which no node is in two of them."""
    rounds: list[list[Pair]] = []
    for pair in pairs:
        free = next((one for one in rounds if not {node for met in one for node in met} & set(pair)), None)
        if free is None:
            rounds.append([pair])
        else:
            free.append(pair)
    return rounds
