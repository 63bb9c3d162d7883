"""Nodes of several models are compared within their model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from isolate_power import COST, WITH_GROUPS, Fleet, swept

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.judge import suspects_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.measured import Measured
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.models import (
    Models,
    model_of,
    model_of_nics,
    pairs_without_peers,
    slower_models,
    within_models,
    without_peers,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.planned import Cost, plan_tests

NODES = [f"node{number}" for number in range(16)]
# One node in four is of a model that is 20 % slower.
MODELS = {node: "old" if number % 4 == 0 else "new" for number, node in enumerate(NODES)}
OLD = {node: np.log(1.2) for node, model in MODELS.items() if model == "old"}


def named(slow: dict[str, float], cost: Cost = COST) -> set[str]:
    measured = swept(Fleet(NODES, np.random.default_rng(1), slow, {}), plan_tests(NODES, cost, 60))
    assert {one["node"] for one in suspects_of(measured)} >= OLD.keys()
    return {one["node"] for one in suspects_of(within_models(measured, Models(MODELS)))}


@pytest.mark.parametrize("cost", [COST, WITH_GROUPS])
def test_a_slower_model_is_accused_of_nothing(cost: Cost) -> None:
    assert named(OLD, cost) == set()
    measured = swept(Fleet(NODES, np.random.default_rng(1), OLD, {}), plan_tests(NODES, cost, 60))
    (slower,) = slower_models(measured, MODELS, 0.03)
    assert (slower["model"], slower["than"]) == ("old", "new")
    assert slower["slower_by"]["cpu"] == pytest.approx(0.2, abs=0.02)
    assert slower_models(measured, MODELS, 0.3) == []


def test_a_slow_node_is_found_among_its_model() -> None:
    assert named({**OLD, "node5": np.log(1.5)}) == {"node5"}


def test_a_node_without_peers_is_known_and_one_that_lacks_a_gpu_is_no_model_of_its_own() -> None:
    assert without_peers({"a": "x", "b": "x", "c": "x", "d": "y"}) == {"d": "y"}
    assert without_peers({"a": "x", "b": "x"}) == {}
    assert model_of("2 × EPYC 9654", "MI300X") == model_of("1 × EPYC 9654", "MI300X") == "EPYC 9654, MI300X"
    assert model_of(None, None) == ""


# Half of the nodes have an adapter that is half as fast.
NICS = {node: "slow" if number % 2 else "fast" for number, node in enumerate(NODES)}


def with_nics(**slow: float) -> list[Measured]:
    """Return a sweep with the second tests, where pairs with a slow adapter take twice as long; some send slowly."""
    fleet = Fleet(NODES, np.random.default_rng(1), {}, {}, slow_sending=slow)
    measured = swept(fleet, plan_tests(NODES, COST, 60))
    by = [2.0 if len(one.nodes) == 2 and "slow" in map(NICS.get, one.nodes) else 1.0 for one in measured]
    return [
        replace(one, samples=tuple(times * sample for sample in one.samples))
        for one, times in zip(measured, by, strict=True)
    ]


def accused(measured: list[Measured], nics: dict[str, str]) -> set[str]:
    return {one["node"] for one in suspects_of(within_models(measured, Models(dict.fromkeys(NODES, "same"), nics)))}


def test_links_are_compared_within_the_models_of_adapters() -> None:
    slow = with_nics(node4=np.log(1.5))
    assert accused(slow, NICS) == {"node4"}
    assert accused(slow, {}) != {"node4"}
    assert accused(with_nics(), NICS) == set()


def test_an_adapter_makes_no_difference_where_none_is_used() -> None:
    measured = [one for one in with_nics() if len(one.nodes) == 1]
    assert within_models(measured, Models(dict.fromkeys(NODES, "same"), NICS)) == measured


def test_a_pair_of_two_models_has_peers_of_its_own_or_is_said_to_have_none() -> None:
    assert pairs_without_peers(with_nics(), Models({}, NICS)) == {}
    assert pairs_without_peers(with_nics(), Models({}, {})) == {}
    few = {node: "new" if node in NODES[:2] else "old" for node in NODES}
    measured = [Measured("tcp", "link", pair, (0.1,)) for pair in (("node0", "node1"), ("node0", "node2"))]
    assert pairs_without_peers(measured, Models({}, few)) == {"new – new": 1, "new – old": 1}
    assert within_models(measured, Models({}, few)) == []


def test_a_node_that_lacks_an_adapter_is_no_model_of_its_own() -> None:
    assert model_of_nics(["b", "a", None, "a"]) == model_of_nics(["a", "b"]) == "a, b"
