"""The tests planned for some nodes and a budget."""

from __future__ import annotations

import math

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.choice import BUILT_IN, Chosen
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.planned import (
    Cost,
    PlanError,
    plan_tests,
    planned_in_words,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.settling import more_in_words

COST = Cost(single=60, pair=30)


def test_the_budget_bounds_the_rounds_and_so_the_minutes_whatever_the_number_of_nodes() -> None:
    for nodes, rounds in ((8, 6), (16, 6), (32, 5), (64, 3), (1024, 3)):
        tests = plan_tests([str(number) for number in range(nodes)], COST, 6)
        assert len(tests["pairs"]) == rounds
        assert sum(tests["seconds"].values()) == (6 * 60 if rounds == 6 else 30 * rounds + 180)
        assert tests["node_minutes"]["sweep"] == nodes * (1 + rounds * 0.5)


def test_default_probes_of_gpus_take_half_the_node_minutes_of_bisection_at_64_nodes_within_ten_minutes() -> None:
    names = ["torch", "nccl_tests", "ib_write_bw", "torch_pairs"]
    for probes, adapters in (
        ([*BUILT_IN.names, "torch", "nccl_tests", "torch_pairs"], 0),
        ([*BUILT_IN.names, *names], 8),
    ):
        chosen = Chosen(tuple(probes), {"ib_write_bw": [f"mlx5_{number}" for number in range(adapters)]})
        cost = chosen.cost()
        tests = plan_tests([str(number) for number in range(64)], cost, 10)
        assert len(tests["pairs"]) == 3
        # Bisection tests both halves of all nodes each time, and finds a bad adapter only in pairs.
        bisection = 6 * 64 * (cost.single + (cost.pair if adapters else 0)) / 60
        assert tests["node_minutes"]["sweep"] < bisection / 2


def test_all_links_of_eight_nodes_are_tested_and_few_of_a_thousand() -> None:
    assert plan_tests([str(number) for number in range(8)], COST, 60)["links"] == 1
    of_many = plan_tests([str(number) for number in range(1024)], COST, 60)
    assert of_many["links"] == pytest.approx(3 / 1023)
    assert any("0.3 %" in line for line in planned_in_words(of_many))


def test_an_odd_node_out_is_not_paid_for() -> None:
    tests = plan_tests(list("abc"), COST, 60)
    assert [len(one) for one in tests["pairs"]] == [1, 1, 1]
    assert tests["node_minutes"]["sweep"] == 3 * 1 + 3 * 2 * 0.5


def test_two_nodes_and_a_budget_that_is_too_small_are_refused_with_what_is_needed() -> None:
    with pytest.raises(ValueError, match="2 nodes"):
        plan_tests(["a", "b"], COST, 60)
    with pytest.raises(ValueError, match=r"take 4\.5 minutes"):
        plan_tests(list("abcdefgh"), COST, 2)
    assert len(plan_tests(list("abcdefgh"), COST, 4.5)["pairs"]) == 3


@pytest.mark.parametrize("minutes", [0.0, -1.0, 1441.0, math.inf, math.nan])
def test_a_budget_that_is_no_number_of_minutes_of_a_day_is_refused(minutes: float) -> None:
    with pytest.raises(PlanError, match="isolate_budget is "):
        plan_tests(list("abc"), COST, minutes)


def test_what_the_sweep_leaves_of_the_budget_is_for_suspects() -> None:
    nodes = list("abcdefgh")
    assert plan_tests(nodes, COST, 6)["confirming"] == 2
    assert plan_tests(nodes, COST, 60)["confirming"] > 50
    few, many = (plan_tests(nodes, COST, 60, suspects=count)["node_minutes"]["confirmation"] for count in (0, 4))
    assert many == 4 * few


def test_rounds_of_groups_cost_their_time_on_all_nodes_and_come_back_for_suspects() -> None:
    nodes = [str(number) for number in range(64)]
    without, tests = plan_tests(nodes, COST, 60), plan_tests(nodes, Cost(single=60, pair=30, group=45), 60)
    rounds = len(tests["groups"])
    assert (without["groups"], without["confirming_groups"]) == ([], 0)
    assert tests["pairs"] == without["pairs"]
    assert tests["seconds"]["sweep"] - without["seconds"]["sweep"] == rounds * 45
    assert tests["node_minutes"]["sweep"] - without["node_minutes"]["sweep"] == rounds * 64 * 0.75
    assert tests["seconds"]["confirmation"] - without["seconds"]["confirmation"] == 2 * 45
    assert sum(plan_tests(nodes, Cost(60, 30, 45), 13)["seconds"].values()) <= 13 * 60
    assert any(line.startswith(f"{rounds} rounds of groups: all 64 nodes together") for line in planned_in_words(tests))


def test_groups_that_cannot_be_compared_or_paid_for_are_refused() -> None:
    with pytest.raises(PlanError, match="at least 8"):
        plan_tests(list("abcdefg"), Cost(60, 30, 45), 60)
    with pytest.raises(PlanError, match=r"and 6 rounds of groups.*take 10\.5 minutes"):
        plan_tests(list("abcdefgh"), Cost(60, 30, 45), 8)


def test_a_budget_that_is_too_small_is_refused_without_pairs_as_well() -> None:
    for cost in (Cost(single=240, pair=0), Cost(single=0, pair=0, group=90)):
        with pytest.raises(PlanError, match="1 minutes are too few"):
            plan_tests(list("abcdefgh"), cost, 1)
        assert sum(plan_tests(list("abcdefgh"), cost, 12)["seconds"].values()) <= 12 * 60


def test_groups_that_may_follow_are_shown_with_what_they_take_before_a_node_is_asked() -> None:
    arguments = {"probes": [], "rehearsal": False}
    nodes = [str(number) for number in range(64)]
    shown = "\n".join(more_in_words(arguments, nodes))
    assert "8 rounds of groups" in shown
    for name in ("torch_groups", "tcp_groups"):
        minutes = 8 * Chosen((name,)).cost().group / 60
        assert f"{minutes:.1f} minutes and {64 * minutes:.1f} node-minutes more with {name}" in shown
    assert "groups" not in "\n".join(more_in_words(arguments, nodes[:7]))
    assert more_in_words({"probes": ["cpu"], "rehearsal": False}, nodes) == []
