# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of nodes: rounds of disjoint pairs, and the evidence of pairs on each node and each link.

In each round a node meets another partner. This is the circle method of tournaments: with an even number n of nodes,
round r pairs those whose places add up to r (modulo n - 1), and the last node with the one that is left. All n - 1
rounds together are all pairs. With an odd number one node has no partner in a round.

The cost of a pair depends on its two nodes and its link. The model is additive in logarithms, *cost = usual + node +
node + link*. It is fitted by medians first (Tukey's median polish), so that neither a bad node nor a bad link shifts
the results of the others, and then by least squares without the values that medians show to be far off (Tukey's
biweight): medians of only a few partners are wrong too often.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Sequence

import numpy as np

from .robust import Values

Pair = tuple[str, str]

_GOLDEN = (math.sqrt(5) - 1) / 2


def rounds_of_pairs(nodes: Sequence[str], count: int) -> list[list[Pair]]:
    """Return ``count`` rounds of pairs of nodes, or all that there are.

    The rounds are spread over all possible ones, so that a node's partners are in different parts of the inventory, for
    neighbours share a switch.
    """
    places: list[str | None] = [*nodes, *([None] if len(nodes) % 2 else [])]
    possible = max(len(places) - 1, 0)
    stride = next((step for step in range(round(_GOLDEN * possible), 0, -1) if math.gcd(step, possible) == 1), 1)
    return [_round(places, number * stride % possible) for number in range(min(count, possible))]


def _round(places: Sequence[str | None], number: int) -> list[Pair]:
    circle, last = len(places) - 1, len(places) - 1
    pairs = []
    for place in range(circle):
        # Who would meet himself meets the node that is not on the circle.
        other = (number - place) % circle
        other = last if other == place else other
        one, two = places[place], places[other]
        if place < other and one is not None and two is not None:
            pairs.append((one, two))
    return pairs


def confirming_rounds(
    suspects: Sequence[tuple[str, ...]], proven: Sequence[str], count: int, references: int
) -> list[list[Pair]]:
    """Return rounds that test each suspect ``count`` times: a node with a different proven one each time, or a link.

    Each test is in the first round that has room for it, so who comes first among the suspects is in the first rounds.
    Up to so many ``references`` of a round are pairs of proven nodes, which show the usual cost then.
    """
    rounds: list[list[Pair]] = []
    met: set[Pair] = set()

    def partner(node: str, busy: set[str]) -> str | None:
        free = [one for one in proven if one not in busy and one != node]
        return next((one for one in free if (node, one) not in met), free[0] if free else None)

    for suspect in suspects:
        place = 0
        for _test in range(count if len(suspect) == 2 or set(proven) - set(suspect) else 0):
            while True:
                if place == len(rounds):
                    rounds.append([])
                busy = {node for pair in rounds[place] for node in pair}
                place += 1
                other = suspect[1] if len(suspect) == 2 else partner(suspect[0], busy)
                if other and not {suspect[0], other} & busy:
                    break
            met.add((suspect[0], other))
            rounds[place - 1].append((suspect[0], other))
    return [[*pairs, *_references(pairs, proven, references)] for pairs in rounds]


def _references(pairs: Sequence[Pair], proven: Sequence[str], most: int) -> list[Pair]:
    """Return pairs of proven nodes that are in none of these pairs."""
    busy = {node for pair in pairs for node in pair}
    free = [node for node in proven if node not in busy]
    return list(zip(free[::2], free[1::2], strict=False))[:most]


_PASSES = 10
_DONE = 1e-6
# Where the biweight begins to leave out, in standard deviations: 95 % as precise as the mean of normal values.
_BIWEIGHT = 4.685
_MAD = 1.4826
_LEAST_SCALE = 1e-4
_LEAST_WEIGHT = 0.5


class PairFit(t.NamedTuple):
    """The ``usual`` cost of a pair, the cost that each node adds, and each pair's cost beyond its nodes' share.

    The latter is seen from outside: a pair does not count in its own nodes' share.
    """

    usual: float
    nodes: Values
    links: Values


class Meetings:
    """Who met whom, in order: the pairs of all rounds as places of nodes, a pair of nodes at most once."""

    def __init__(self, pairs: t.Sequence[tuple[int, int]], nodes: int) -> None:
        """Lay the pairs out as a table with a row for each node: its partners, and which pair that was."""
        self.ends = np.array(pairs, dtype=int).reshape(-1, 2)
        met: list[list[tuple[int, int]]] = [[] for _node in range(nodes)]
        for number, (one, two) in enumerate(pairs):
            met[one].append((two, number))
            met[two].append((one, number))
        width = max(map(len, met), default=0)
        self.partner = np.zeros((nodes, width), dtype=int)
        self.pair = np.full((nodes, width), -1)
        for node, row in enumerate(met):
            for column, (other, number) in enumerate(row):
                self.partner[node, column], self.pair[node, column] = other, number
        self.is_full = bool((self.pair >= 0).all())

    def fit(self, costs: Values) -> PairFit:
        """Return the effects fitted to the logarithms of all pairs' costs. A node without a partner adds nothing."""
        usual = float(np.median(costs))
        table = np.where(self.pair >= 0, costs[self.pair] - usual, np.nan)
        nodes = np.zeros(len(table))
        for _number in range(_PASSES):
            found = self._medians(table - nodes[self.partner])
            shift = float(np.median(found))
            usual, table, found = usual + shift, table - shift, found - shift
            # Half the way at a time: two partners would hand what lies between them to and fro.
            step = (found - nodes) / 2
            nodes = nodes + step
            if np.abs(step).max() < _DONE:
                break
        weights = self._weights(table - nodes[self.partner] - nodes[:, None])
        for _number in range(_PASSES):
            nodes = (nodes + self._means(weights, table - nodes[self.partner], nodes)) / 2
        return PairFit(usual, nodes, self._links(weights, table, nodes))

    def _weights(self, rest: Values) -> Values:
        """Return the weight of each pair for each of its nodes, by the cost that the nodes leave unexplained."""
        scale = max(_MAD * float(np.nanmedian(np.abs(rest))), _LEAST_SCALE)
        off = np.clip(np.abs(np.nan_to_num(rest, nan=np.inf)) / (_BIWEIGHT * scale), 0, 1)
        return t.cast("Values", (1 - off**2) ** 2)

    def _means(self, weights: Values, rest: Values, otherwise: Values) -> Values:
        """Return the weighted mean of each row, or the substitute for a row with next to no weight."""
        sums = weights.sum(axis=-1)
        means = (weights * np.nan_to_num(rest)).sum(axis=-1) / np.maximum(sums, _LEAST_WEIGHT)
        return np.where(sums >= _LEAST_WEIGHT, means, otherwise)

    def _medians(self, table: Values) -> Values:
        if self.is_full:
            return t.cast("Values", np.median(table, axis=1))
        there = np.isfinite(table).any(axis=1)
        medians = np.zeros(len(table))
        medians[there] = np.nanmedian(table[there], axis=1)
        return medians

    def _links(self, weights: Values, table: Values, nodes: Values) -> Values:
        """Return each pair's cost beyond its nodes' share, as their other partners show it."""
        rest = table - nodes[self.partner]
        expected, measured = np.zeros(len(self.ends)), np.zeros(len(self.ends))
        for column in range(table.shape[1]):
            others = weights.copy()
            others[:, column] = 0
            there = self.pair[:, column] >= 0
            pairs = self.pair[there, column]
            np.add.at(expected, pairs, self._means(others, rest, nodes)[there])
            measured[pairs] = table[there, column]
        return measured - expected
