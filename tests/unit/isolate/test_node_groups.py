# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is accused of a fault that appears only in groups, by simulated nodes; and faults that no node caused."""

from __future__ import annotations

import math
import typing as t
from dataclasses import replace

import numpy as np
import pytest
from isolate_power import GROUP, WITH_GROUPS, Fleet, rates, swept

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.groups import by_size
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.judge import judged, suspects_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.measured import Measured
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.planned import plan_tests
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.scale import at_scale, groups_of, sizes_of

NODES = [f"node{number}" for number in range(16)]
TESTS = plan_tests(NODES, WITH_GROUPS, 60)


def measured(**more: t.Any) -> list[Measured]:
    return swept(Fleet(NODES, np.random.default_rng(1), {}, {}, **more), TESTS)


def test_a_node_that_is_slow_in_groups_alone_is_named_with_how_much_slower_its_groups_are() -> None:
    found = measured(slow_in_groups={"node11": math.log(1.3)})
    (suspect,) = suspects_of(found)
    assert (suspect["node"], suspect["other"], suspect["part"], suspect["probe"]) == ("node11", None, "groups", GROUP)
    assert suspect["slower_by"] == pytest.approx(0.3, abs=0.04)
    assert suspect["interval"] is not None
    assert suspect["interval"][0] <= suspect["slower_by"] <= suspect["interval"][1]
    assert at_scale(found, suspects_of(found)) == []


def test_two_nodes_that_are_slow_in_groups_are_both_named() -> None:
    found = measured(slow_in_groups={"node2": math.log(1.5), "node13": math.log(1.6)})
    assert {one["node"] for one in suspects_of(found)} == {"node2", "node13"}


def test_a_node_in_whose_groups_the_test_fails_is_broken_and_its_partners_are_good() -> None:
    def failing(one: Measured) -> Measured:
        bad = one.probe == GROUP and "node6" in one.nodes
        return replace(one, samples=(), problem="node6: no route to host") if bad else one

    found = [failing(one) for one in measured(slow_in_groups={"node6": math.log(50.0)})]
    (suspect,) = suspects_of(found)
    assert (suspect["node"], suspect["verdict"]) == ("node6", "broken")
    assert suspect["values"]["said"] == "node6: no route to host"


def test_one_odd_group_accuses_nobody() -> None:
    found = measured()
    odd = next(one for one in found if len(one.nodes) == 4)
    found = [replace(one, samples=(3 * one.samples[0],)) if one is odd else one for one in found]
    assert suspects_of(found) == []
    assert judged(found).unproved == []


def test_what_is_slow_from_a_size_on_is_the_fault_of_no_node() -> None:
    found = measured(slow_at_scale=(8, math.log(1.4)))
    assert suspects_of(found) == []
    (slow,) = at_scale(found, [])
    assert (slow["probe"], slow["nodes"], slow["than"]) == (GROUP, 8, 4)
    assert slow["slower_by"] == pytest.approx(0.4, abs=0.05)
    sizes = sizes_of(GROUP, found)
    assert [(one["nodes"], one["groups"]) for one in sizes] == [(4, 16), (8, 4), (16, 1)]
    assert sizes[0]["slower_by"] == 0
    assert sizes[2]["slower_by"] == pytest.approx(0.4, abs=0.05)


def test_groups_that_were_slow_only_once_are_not_slow_at_scale() -> None:
    once = [one for one in measured(slow_at_scale=(8, math.log(1.4))) if one.stage == "sweep"]
    again = [one for one in measured(slow_at_scale=(4, 0.0)) if one.stage == "confirmation"]
    fast = [replace(one, stage="confirmation") for one in measured() if one.probe == GROUP]
    assert at_scale(once, []) == []
    assert at_scale([*once, *again, *fast], []) == []


def test_large_groups_that_fail_while_small_ones_do_not_are_said_to() -> None:
    found = [
        replace(one, samples=(), problem="init timed out") if one.probe == GROUP and len(one.nodes) == 16 else one
        for one in [*measured(), *(replace(one, stage="confirmation") for one in measured() if one.probe == GROUP)]
    ]
    assert suspects_of(found) == []
    (slow,) = at_scale(found, [])
    assert (slow["nodes"], slow["slower_by"]) == (16, None)
    assert sizes_of(GROUP, found)[-1]["seconds"] is None
    assert groups_of(GROUP, found)[0]["slower_by"] is None


def test_groups_in_which_a_node_was_missing_are_of_the_same_size() -> None:
    found = [
        replace(one, nodes=tuple(node for node in one.nodes if node != "node3"))
        for one in measured(slow_in_groups={"node11": math.log(1.3)})
        if "node3" not in one.nodes or len(one.nodes) > 2
    ]
    of_groups = [one for one in found if one.probe == GROUP and one.stage == "sweep"]
    assert [len(splits) for splits in by_size(of_groups).values()] == [1, 2, 4]
    assert {one["node"] for one in suspects_of(found)} == {"node11"}


def test_healthy_nodes_are_hardly_ever_accused_for_their_groups_and_a_slow_one_is_found() -> None:
    assert rates(16, 40, noise="long tails", cost=WITH_GROUPS).false <= 0.025
    of = rates(16, 20, by=0.3, cost=WITH_GROUPS, in_groups=1)
    assert of.found >= 0.9
    assert of.false == 0
