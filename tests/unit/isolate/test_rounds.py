"""Rounds of disjoint pairs: who meets whom."""

from __future__ import annotations

from itertools import combinations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.pairs import against, rounds_of_pairs


def names(count: int) -> list[str]:
    return [f"node{number}" for number in range(count)]


@pytest.mark.parametrize("count", [2, 3, 4, 7, 8, 33])
def test_all_rounds_are_all_pairs_once_and_a_round_has_each_node_once(count: int) -> None:
    rounds = rounds_of_pairs(names(count), count)
    met = [frozenset(pair) for one in rounds for pair in one]
    assert sorted(map(sorted, met)) == sorted(map(sorted, combinations(names(count), 2)))
    for one in rounds:
        nodes = [node for pair in one for node in pair]
        assert len(nodes) == len(set(nodes)) == count - count % 2


def test_a_few_rounds_of_many_nodes_give_each_node_as_many_partners() -> None:
    rounds = rounds_of_pairs(names(1024), 5)
    partners: dict[str, set[str]] = {}
    for one, two in (pair for each in rounds for pair in each):
        partners.setdefault(one, set()).add(two)
        partners.setdefault(two, set()).add(one)
    assert {len(met) for met in partners.values()} == {5}
    assert len(partners) == 1024


def test_each_suspect_meets_different_proven_nodes_and_no_node_is_in_two_pairs_at_once() -> None:
    rounds = against(["a", "b", "c"], ["x", "y"], 2)
    assert {(one, two) for each in rounds for one, two in each} == {(s, p) for s in "abc" for p in "xy"}
    assert all(len({node for pair in each for node in pair}) == 2 * len(each) for each in rounds)
    assert against(["a"], [], 2) == []
