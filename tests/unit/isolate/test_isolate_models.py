"""Nodes of several models are compared within their model."""

from __future__ import annotations

import numpy as np
import pytest
from isolate_power import COST, WITH_GROUPS, Fleet, swept

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.judge import suspects_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.models import (
    model_of,
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
    return {one["node"] for one in suspects_of(within_models(measured, MODELS))}


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
