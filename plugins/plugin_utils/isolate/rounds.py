# SPDX-License-Identifier: GPL-3.0-or-later
"""Rounds of disjoint pairs, in which each node meets another partner every time.

This is the circle method of tournaments: with an even number n of nodes, round r pairs those whose places add up to r
(modulo n - 1), and the last node with the one that is left. All n - 1 rounds together are all pairs. With an odd number
one node has no partner in a round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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


def against(suspects: Sequence[str], proven: Sequence[str], count: int) -> list[list[Pair]]:
    """Return rounds in which each suspect meets ``count`` proven nodes, a different one each time where there are."""
    if not proven:
        return []
    rounds = []
    for number in range(count):
        for first in range(0, len(suspects), len(proven)):
            at_once = suspects[first : first + len(proven)]
            rounds.append([(node, proven[(place + number) % len(proven)]) for place, node in enumerate(at_once)])
    return rounds
