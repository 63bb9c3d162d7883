"""Rounds of disjoint pairs: who meets whom."""

from __future__ import annotations

from itertools import combinations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.pairs import confirming_rounds, rounds_of_pairs


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
    rounds = confirming_rounds([("a",), ("b",), ("c",)], ["x", "y"], 2, 0)
    assert {(one, two) for each in rounds for one, two in each} == {(s, p) for s in "abc" for p in "xy"}
    assert all(len({node for pair in each for node in pair}) == 2 * len(each) for each in rounds)
    assert confirming_rounds([("a",)], [], 2, 0) == []


def test_who_comes_first_among_the_suspects_is_in_the_first_rounds() -> None:
    rounds = confirming_rounds([("a",), ("a", "b"), ("c", "d")], ["x", "y", "z"], 2, 0)
    assert [sorted(map(set, each), key=sorted) for each in rounds[2:]] == [[{"a", "b"}], [{"a", "b"}]]
    for each in rounds[:2]:
        assert {"a", "b"} not in map(set, each)
        assert {"c", "d"} in map(set, each)


def test_nodes_that_are_free_in_a_round_show_what_is_usual_then() -> None:
    (first, _second) = confirming_rounds([("a",)], list("uvwxyz"), 2, 2)
    assert len(first) == 3
    assert len({node for pair in first for node in pair}) == 6
