"""Who is accused of being slow, by simulated nodes: the bad ones, and no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from isolate_power import COST, NOISE, ONE_WAY, PAIR, SINGLE, SINGLES, Fleet, accused, rates

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.judge import (
    best_references,
    confirming_tests,
    judged,
    suspects_of,
    suspects_of_sweep,
    verdicts_of,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.means import MEAN, over_tests, with_means
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.measured import Measured, Stage
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.outcome import finding_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.planned import plan_tests
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.score import scores_of

NODES = [f"node{number}" for number in range(8)]
TESTS = plan_tests(NODES, COST, 60)
STAGES: tuple[Stage, ...] = ("sweep", "confirmation")


def fleet(slow: dict[str, float] | None = None, links: dict[frozenset[str], float] | None = None) -> Fleet:
    return Fleet(NODES, np.random.default_rng(1), slow or {}, links or {})


def sweep_and_confirmation(of: Fleet) -> list[Measured]:
    measured = of.measured(TESTS["singles"], TESTS["pairs"], "sweep")
    scored = scores_of(measured)
    suspects = suspects_of_sweep(scored)
    again = confirming_tests(suspects, scored, best_references(scored, NODES, [score.unit for score in suspects]))
    return measured + of.measured(again.singles, again.pairs, "confirmation")


def test_a_slow_node_is_named_with_how_much_slower_it_is_in_each_part() -> None:
    measured = sweep_and_confirmation(fleet({"node5": np.log(1.3)}))
    suspects = suspects_of(measured)
    assert {(one["node"], one["other"], one["part"], one["verdict"]) for one in suspects} == {
        ("node5", None, "gpu", "slow"),
        ("node5", None, "link", "slow"),
        ("node5", None, "link, sending", "slow"),
        ("node5", None, "link, receiving", "slow"),
    }
    for one in suspects:
        assert one["slower_by"] == pytest.approx(0.3, abs=0.03)
        assert one["interval"] is not None
        assert one["interval"][0] <= 0.3 + 0.03
        assert one["interval"][1] >= 0.3 - 0.03
        assert one["values"]["times"] == pytest.approx(1.3, abs=0.05)
        assert one["values"]["deviations"] >= one["values"]["needed"]
    verdicts = verdicts_of(NODES, measured, suspects)
    assert verdicts == {node: "slow" if node == "node5" else "good" for node in NODES}


def test_a_machine_that_is_slower_as_a_whole_in_the_confirmation_makes_nobody_slower() -> None:
    measured = [
        replace(one, samples=tuple(1.5 * sample for sample in one.samples))
        if one.stage == "confirmation" and len(one.nodes) == 1
        else one
        for one in sweep_and_confirmation(fleet({"node5": np.log(1.3)}))
    ]
    (found,) = [one for one in suspects_of(measured) if one["part"] == "gpu"]
    assert (found["node"], found["values"]["times_again"]) == ("node5", pytest.approx(1.3, abs=0.05))


def test_an_adapter_of_a_node_is_the_part_that_its_pairs_are_slow_in() -> None:
    measured = [
        replace(one, part="HCA mlx5_3")
        for one in sweep_and_confirmation(fleet({"node5": np.log(1.3)}))
        if one.probe == ONE_WAY
    ]
    assert {(one["node"], one["other"], one["part"]) for one in suspects_of(measured)} == {
        ("node5", None, "HCA mlx5_3, sending"),
        ("node5", None, "HCA mlx5_3, receiving"),
    }


@pytest.mark.parametrize("node", [NODES[0], NODES[3], NODES[-1]])
@pytest.mark.parametrize("way", ["sending", "receiving"])
def test_a_node_that_is_slow_one_way_is_named_with_the_way_wherever_it_is_in_the_inventory(node: str, way: str) -> None:
    of = replace(fleet(), **{f"slow_{way}": {node: np.log(10.0)}})
    (suspect,) = suspects_of(sweep_and_confirmation(of))
    assert (suspect["node"], suspect["other"], suspect["part"]) == (node, None, f"link, {way}")
    assert suspect["slower_by"] == pytest.approx(9, rel=0.05)


def test_a_link_that_is_slow_one_way_is_named_with_the_way() -> None:
    of = fleet()
    measured = [
        replace(one, samples=tuple(3 * sample for sample in one.samples)) if one.nodes == ("node5", "node2") else one
        for one in [
            *of.measured(NODES, TESTS["pairs"], "sweep"),
            *of.measured(NODES, [[("node2", "node5")]] * 2, "confirmation"),
        ]
    ]
    (suspect,) = suspects_of(measured)
    assert (suspect["node"], suspect["other"], suspect["one_way"]) == ("node5", "node2", True)
    assert finding_of(suspect)["case"] == "one_way"


def test_two_slow_nodes_are_told_from_the_link_between_them() -> None:
    assert accused(fleet({"node1": np.log(1.3), "node6": np.log(1.3)}), TESTS) == {
        frozenset({"node1"}),
        frozenset({"node6"}),
    }


def test_a_slow_link_is_named_and_its_nodes_are_good() -> None:
    bad = frozenset({"node2", "node5"})
    measured = sweep_and_confirmation(fleet(links={bad: np.log(1.5)}))
    (suspect,) = suspects_of(measured)
    assert {suspect["node"], suspect["other"]} == bad
    assert suspect["one_way"] is False
    assert suspect["slower_by"] == pytest.approx(0.5, abs=0.08)
    assert suspect["interval"] is not None
    assert suspect["interval"][0] <= suspect["slower_by"] <= suspect["interval"][1]
    assert set(verdicts_of(NODES, measured, [suspect]).values()) == {"good"}


def test_a_link_is_not_accused_where_a_node_of_it_is_bad_by_itself() -> None:
    bad = frozenset({"node2", "node5"})
    measured = sweep_and_confirmation(fleet(links={bad: np.log(300.0)}))
    # A node of it is a little slow by itself.
    measured = [
        replace(one, samples=tuple(1.2 * sample for sample in one.samples)) if one.nodes == ("node2",) else one
        for one in measured
    ] + [Measured(SINGLE, "gpu", (node,), (1.2 if node == "node2" else 1.0,), "confirmation") for node in NODES]
    assert {(one["node"], one["other"]) for one in suspects_of(measured)} == {("node2", None)}


def test_a_link_between_fast_nodes_that_takes_as_long_as_usual_is_not_slow() -> None:
    fast, link = np.log(0.8), frozenset({"node2", "node5"})
    assert any(link == frozenset(pair) for pairs in TESTS["pairs"] for pair in pairs)
    assert accused(fleet(dict.fromkeys(link, fast), {link: -fast}), TESTS) == set()


def test_who_is_slow_in_the_sweep_and_not_when_tested_again_is_accused_of_nothing() -> None:
    once = fleet({"node3": np.log(1.3)}).measured(NODES, TESTS["pairs"], "sweep")
    again = fleet().measured(NODES, [[("node3", "node0")], [("node3", "node1")]], "confirmation")
    assert suspects_of_sweep(scores_of(once))
    assert suspects_of(once + again) == []
    assert suspects_of(once) == []


def test_a_suspect_of_a_run_is_tested_again_and_accused_of_nothing_if_it_is_good() -> None:
    before = {"node3"}
    of = fleet()
    measured = of.measured(NODES, TESTS["pairs"], "sweep")
    assert suspects_of_sweep(scores_of(measured)) == []
    scored = scores_of(measured)
    suspects = suspects_of_sweep(scored, before)
    assert {score.unit.nodes for score in suspects} == {("node3",)}
    again = confirming_tests(suspects, scored, best_references(scored, NODES, [score.unit for score in suspects]))
    assert again.singles[0] == "node3"
    assert [pairs[0][0] for pairs in again.pairs] == ["node3", "node3"]
    measured += of.measured(again.singles, again.pairs, "confirmation")
    assert suspects_of(measured, before) == []
    assert judged(measured).unproved == []


def test_a_suspect_of_a_run_that_is_slow_only_when_tested_again_needs_as_much_proof_on_the_whole() -> None:
    before = {"node3"}
    quick = fleet().measured(NODES, TESTS["pairs"], "sweep")
    slow = fleet({"node3": np.log(1.3)}).measured(NODES, [[("node3", "node0")], [("node3", "node1")]], "confirmation")
    assert {one["node"] for one in suspects_of(quick + slow, before)} == {"node3"}
    little = fleet({"node3": np.log(1.03)}).measured(NODES, [[("node3", "node0")]], "confirmation")
    assert suspects_of(quick + little, before) == []


def test_what_few_nodes_cannot_prove_is_reported_without_accusing_anybody() -> None:
    few = NODES[:4]
    of = Fleet(few, np.random.default_rng(1), {"node2": np.log(1.15)}, {})
    measured = of.measured(few, plan_tests(few, COST, 60)["pairs"], "sweep")
    measured += of.measured(few, [[("node2", "node0")], [("node2", "node1")]], "confirmation")
    assert suspects_of(measured) == []
    unproved = judged(measured).unproved
    assert {(one["node"], one["other"]) for one in unproved} == {("node2", None)}
    assert all(one["slower_by"] < one["proof"] for one in unproved)


def test_who_has_no_place_in_the_budget_for_second_tests_is_unproved_by_name() -> None:
    of = fleet({"node5": np.log(1.3)})
    measured = of.measured([], TESTS["pairs"], "sweep")
    found = judged(measured)
    assert found.suspects == []
    assert [(one["node"], one["other"], one["tested_again"]) for one in found.unproved] == [("node5", None, False)]


def test_suspects_are_tested_in_the_order_of_their_evidence_and_nodes_before_links_that_share_them() -> None:
    of = Fleet(NODES, np.random.default_rng(1), {}, {frozenset({"node2", "node4"}): np.log(18.0)})
    scored = scores_of(
        [
            replace(one, samples=tuple(16 * sample for sample in one.samples)) if one.nodes == ("node2",) else one
            for one in of.measured(NODES, TESTS["pairs"], "sweep")
        ]
    )
    suspects = [score.unit.nodes for score in suspects_of_sweep(scored)]
    assert suspects[0] == ("node2",)
    assert {frozenset(nodes) for nodes in suspects[1:] if len(nodes) == 2} == {frozenset({"node2", "node4"})}
    assert [len(nodes) for nodes in suspects] == sorted(len(nodes) for nodes in suspects)


def test_who_is_only_the_last_of_nodes_that_differ_is_neither_accused_nor_unproved() -> None:
    costs = np.random.default_rng(2).normal(0, 0.03, 64)
    measured = [
        Measured(SINGLE, "gpu", (f"node{number}",), (float(np.exp(cost)),), stage)
        for stage in STAGES
        for number, cost in enumerate(costs)
    ]
    assert max(costs) > 0.06
    assert judged(measured) == ([], [])
    alone = [one for one in measured if one.nodes != ("node7",)]
    bad = [Measured(SINGLE, "gpu", ("node7",), (1.5,), stage) for stage in STAGES]
    assert {one["node"] for one in judged([*alone, *bad]).suspects} == {"node7"}


def test_a_node_that_takes_ten_times_as_long_is_named_among_few_nodes_that_differ_much() -> None:
    # Real times of six nodes that shared two processors with other work; node1 had little of one.
    costs = [0.0, np.log(19.6), -0.003, -0.12, 0.3, 0.003]
    measured = [
        Measured(SINGLE, "cpu", (f"node{number}",), (float(np.exp(cost)),), stage)
        for stage in STAGES
        for number, cost in enumerate(costs)
    ]
    assert [(one["node"], one["other"]) for one in suspects_of(measured)] == [("node1", None)]


def test_a_bad_node_is_slower_than_the_last_good_one_by_the_least_effect() -> None:
    costs = {node: 0.001 * number for number, node in enumerate(NODES)}
    costs["node7"] = costs["node6"] + 0.08

    def named(least: float) -> set[str]:
        measured = [
            Measured(SINGLE, "gpu", (node,), (float(np.exp(cost)),), stage)
            for stage in STAGES
            for node, cost in costs.items()
        ]
        return {one["node"] for one in suspects_of(measured, (), least)}

    assert named(0.07) == {"node7"}
    assert named(0.09) == set()


def test_who_is_accused_is_not_reported_as_unproved_as_well() -> None:
    measured = sweep_and_confirmation(fleet({"node5": np.log(1.3)}))
    assert judged(measured).unproved == []


def test_a_node_whose_tests_fail_again_is_broken_and_a_link_that_fails_is_none_of_its_nodes() -> None:
    def measured(bad: set[str]) -> list[Measured]:
        of = fleet()
        found = of.measured(NODES, TESTS["pairs"], "sweep")
        others = [node for node in NODES if node not in bad]
        pairs = [[tuple(sorted(bad))]] if len(bad) == 2 else [[(*bad, other)] for other in others[:2]]
        found += of.measured(NODES, pairs, "confirmation")  # type: ignore[arg-type]
        return [
            replace(one, samples=(), problem="no route to host") if one.probe == PAIR and bad <= set(one.nodes) else one
            for one in found
        ]

    for node in suspects_of(measured({"node4"})):
        assert (node["node"], node["other"], node["verdict"], node["slower_by"]) == ("node4", None, "broken", None)
        assert node["values"] == {"probe": PAIR, "said": "no route to host"}
    assert suspects_of(measured({"node4"}))
    (link,) = suspects_of(measured({"node1", "node4"}))
    assert {link["node"], link["other"]} == {"node1", "node4"}
    assert link["verdict"] == "broken"


def test_a_node_that_was_never_measured_is_untested() -> None:
    measured = fleet().measured(NODES[:7], [], "sweep")
    assert verdicts_of(NODES, measured, suspects_of(measured))["node7"] == "untested"


def test_nodes_that_agree_to_the_last_digit_are_not_accused_of_the_digit_after_it() -> None:
    seconds = {node: 1.001 if node == "node1" else 1.0 for node in NODES}
    measured = [Measured(SINGLE, "cpu", (node,), (one,), stage) for stage in STAGES for node, one in seconds.items()]
    assert suspects_of(measured) == []


@pytest.mark.parametrize("noise", ["nodes differ by 3 %", *(pytest.param(n, marks=pytest.mark.slow) for n in NOISE)])
def test_healthy_nodes_are_hardly_ever_accused(noise: str) -> None:
    assert rates(8, 40, noise=noise).false <= 0.025


@pytest.mark.parametrize(("size", "sweeps", "least"), [(16, 20, 0.75), (64, 10, 0.9)])
def test_a_node_that_is_five_percent_slower_in_everything_is_found_and_no_other(
    size: int, sweeps: int, least: float
) -> None:
    of = rates(size, sweeps, 1, 0, 0.05)
    assert of.found >= least
    assert of.false == 0


def test_a_node_that_is_slow_in_all_readings_by_too_little_for_any_of_them_is_accused_by_their_mean() -> None:
    far = [2.5, 1.5, *np.linspace(-1, 1, 30)]
    random = np.random.default_rng(5)
    places = {probe: random.permutation(far) for probe in SINGLES}
    measured = [
        Measured(probe, "gpu", (f"node{number}",), (float(np.exp(0.01 * place + 0.04 * (number == 7))),), stage)
        for stage in STAGES
        for probe, of_nodes in places.items()
        for number, place in enumerate(of_nodes)
    ]
    assert suspects_of(measured) == []
    (suspect,) = suspects_of(with_means(measured))
    assert (suspect["node"], suspect["probe"]) == ("node7", MEAN)
    # The same nodes are the last in everything, so their means say no more than each reading.
    alike = [replace(one, samples=(float(np.exp(0.01 * far[int(one.nodes[0][4:])])),)) for one in measured]
    assert suspects_of(with_means(alike)) == []
    # One reading accuses it, so its mean adds nothing.
    worse = [
        replace(one, samples=(2.0,)) if one.nodes == ("node7",) and one.probe == SINGLE else one for one in measured
    ]
    assert [(one["node"], one["probe"]) for one in suspects_of(with_means(worse))] == [("node7", SINGLE)]


def test_tests_that_all_nodes_repeated_count_as_their_mean_and_what_all_take_more_in_one_of_them_does_not() -> None:
    def singles(stage: Stage, costs: dict[str, float]) -> list[Measured]:
        return [Measured(SINGLE, "gpu", (node,), (float(np.exp(cost)),), stage) for node, cost in costs.items()]

    first = singles("sweep", {"a": 0.0, "b": 0.01, "c": 0.02})
    again = singles("confirmation", {"a": 0.5, "b": 0.51, "c": 0.56})
    means, repeated = over_tests([*first, *again])
    assert ([one.cost for one in means][:3], repeated) == (pytest.approx([0.0, 0.01, 0.04], abs=1e-9), {SINGLE})
    assert over_tests([*first, *again[:2]]) == ([*first, *again[:2]], set())
    assert over_tests(first) == (first, set())


def test_if_many_nodes_are_slow_for_a_moment_all_are_tested_again() -> None:
    nodes = [f"node{number}" for number in range(64)]

    def again(slow: int) -> int:
        measured = [
            Measured(SINGLE, "gpu", (node,), (1.0 + 0.001 * (number % 7) + (0.2 if number < slow else 0),))
            for number, node in enumerate(nodes)
        ]
        scored = scores_of(measured)
        suspects = suspects_of_sweep(scored)
        good = best_references(scored, nodes, [score.unit for score in suspects])
        return len(confirming_tests(suspects, scored, good).singles)

    assert (again(2), again(10)) == (10, 64)
