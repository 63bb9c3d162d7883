# SPDX-License-Identifier: GPL-3.0-or-later
"""What pairs of nodes say of each node and of each link: a pair takes what its two nodes and its link make it take.

The model is additive in logarithms, *cost = usual + node + node + link*, and fitted by medians (Tukey's median polish),
so that neither a bad node nor a bad link shifts what is found for the others.
"""

from __future__ import annotations

import typing as t

import numpy as np

from .robust import Values

_PASSES = 10
_DONE = 1e-6


class PairFit(t.NamedTuple):
    """The ``usual`` cost of a pair, what each node adds to it, and how much each pair exceeds what its nodes explain.

    The latter is seen from outside: a pair has no part in what its nodes are thought to add.
    """

    usual: float
    nodes: Values
    links: Values


class Meetings:
    """Who met whom in which order: the pairs of all rounds as places of nodes, a pair of nodes at most once."""

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
        """Return what the logarithms of the costs of all pairs say. A node without a partner adds nothing."""
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
        return PairFit(usual, nodes, self._links(table, nodes))

    def _medians(self, table: Values) -> Values:
        if self.is_full:
            return t.cast("Values", np.median(table, axis=1))
        there = np.isfinite(table).any(axis=1)
        medians = np.zeros(len(table))
        medians[there] = np.nanmedian(table[there], axis=1)
        return medians

    def _links(self, table: Values, nodes: Values) -> Values:
        """Return how much each pair exceeds what its nodes add according to their other partners."""
        rest = table - nodes[self.partner]
        width = table.shape[1]
        without = np.zeros_like(table)
        for column in range(width):
            others = np.delete(rest, column, axis=1)
            without[:, column] = self._medians(others) if width > 1 else 0.0
        expected = np.zeros(len(self.ends))
        there = self.pair >= 0
        np.add.at(expected, self.pair[there], without[there])
        measured = np.zeros(len(self.ends))
        measured[self.pair[there]] = table[there]
        return t.cast("Values", measured - expected)
