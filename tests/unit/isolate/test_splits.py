# SPDX-License-Identifier: GPL-3.0-or-later
"""Splits of nodes into groups: who is in one with whom."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.groups import (
    LEAST_GROUP,
    planned_splits,
    with_proven,
)


def names(count: int) -> list[str]:
    return [f"node{number}" for number in range(count)]


@pytest.mark.parametrize("count", [8, 9, 15, 16, 17, 33, 64, 100, 256])
def test_each_split_has_all_nodes_and_no_two_nodes_are_together_in_all_splits_of_the_smallest_groups(
    count: int,
) -> None:
    splits = planned_splits(names(count))
    for groups in splits:
        assert sorted(node for group in groups for node in group) == sorted(names(count))
        sizes = [len(group) for group in groups]
        assert max(sizes) - min(sizes) <= 1
        assert min(sizes) >= LEAST_GROUP
    most = max(map(len, splits))
    smallest = [groups for groups in splits if len(groups) == most]
    together = Counter(pair for groups in smallest for group in groups for pair in combinations(group, 2))
    # If there is room for check digits, two more splits keep even those nodes apart that are mostly together.
    assert max(together.values()) <= len(smallest) - (2 if count in (16, 64, 256) else 1)


def test_many_nodes_need_few_splits_and_neighbours_are_together_first() -> None:
    splits = planned_splits(names(1024))
    assert [len(groups) for groups in splits] == [1, 2, 2, *[4] * 7]
    assert splits[1][0] == names(1024)[:512]
    assert splits[3][3] == names(1024)[768:]


def test_fewer_nodes_than_two_groups_have_are_not_split() -> None:
    assert planned_splits(names(7)) == []


def test_each_suspect_is_among_proven_nodes_which_differ_and_others_are_without_any_at_the_same_time() -> None:
    proven = [f"good{number}" for number in range(12)]
    splits = with_proven(["a", "b", "c", "d"], proven, 4, 2)
    partners: dict[str, list[set[str]]] = {}
    for groups in splits:
        nodes = [node for group in groups for node in group]
        assert len(nodes) == len(set(nodes))
        assert not set(groups[-1]) - set(proven)
        assert len(groups[-1]) == 4
        for suspect, *others in groups[:-1]:
            assert len(others) == 3
            partners.setdefault(suspect, []).append(set(others))
    assert partners.keys() == set("abcd")
    assert all(first != second for first, second in partners.values())


def test_few_proven_nodes_make_smaller_groups_and_none_make_no_group() -> None:
    ((tested, reference),) = with_proven(["a"], ["x", "y", "z"], 4, 1)
    assert (len(tested), len(reference)) == (2, 2)
    assert with_proven(["a"], ["x", "y"], 4, 2) == []
    assert with_proven([], list("xyzuvw"), 4, 2) == []
