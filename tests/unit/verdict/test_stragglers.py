# SPDX-License-Identifier: GPL-3.0-or-later
"""Stragglers among nodes, always slow or now and then, and their cost."""

from __future__ import annotations

import typing as t

import numpy as np
import pytest
from training_logs import frame_of

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.frame import attempts_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.statistics import of_nodes
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.stragglers import stragglers_of

STEPS = 20


def found(
    medians: t.Mapping[str, float], deviations: float = 5.0, together: bool = False, noise: float = 0.1
) -> dict[str, t.Any]:
    """Return the stragglers among nodes whose step times alternate by so much around these medians (ms)."""
    alternating = noise * np.resize([-1.0, 1.0], STEPS)
    return of({node: list(value + alternating) for node, value in medians.items()}, deviations, together)


def of(series: dict[str, list[float]], deviations: float = 5.0, together: bool = False) -> dict[str, t.Any]:
    steps = frame_of(series, "step_time_ms")
    return stragglers_of(steps, of_nodes(attempts_of(steps)[0]), deviations, together=together)


def names(result: dict[str, t.Any]) -> list[str]:
    return [one["node"] for one in result["nodes"]]


CLUSTER = {f"gpu{rank:02}": 100.0 + 0.2 * (rank % 5) for rank in range(15)}


def test_a_node_that_is_slower_than_the_others_by_many_deviations_is_named_with_its_cost() -> None:
    result = found(CLUSTER | {"gpu15": 125.5})
    (slow,) = result["nodes"]
    assert (slow["node"], slow["value"]) == ("gpu15", 125.5)
    assert slow["slower"] == pytest.approx(0.25, abs=0.003)
    assert slow["deviations"] > 5
    assert result["step_time_cost"] == pytest.approx(0.25, abs=0.003)
    assert result["throughput_cost"] == pytest.approx(0.2, abs=0.003)
    assert result["case"] == "slow_by_itself"
    (shown,) = result["values"]["slow"]
    assert (shown["node"], shown["slower"], shown["in_steps"]) == ("gpu15", slow["slower"], None)
    assert result["values"]["without"] < result["values"]["cost"] == result["step_time_cost"]


def test_how_many_deviations_it_takes_is_asked_for() -> None:
    times = CLUSTER | {"gpu15": 102.0}
    assert names(found(times, 3.0)) == ["gpu15"]
    assert names(found(times, 50.0)) == []


def test_a_node_that_is_hardly_slower_is_none_however_much_the_others_agree() -> None:
    assert names(found(dict.fromkeys("abcdefg", 100.0) | {"h": 100.9})) == []
    assert names(found(dict.fromkeys("abcdefg", 100.0) | {"h": 102.0})) == ["h"]


def test_a_node_by_itself_whose_own_steps_vary_more_is_no_straggler() -> None:
    times = {"a": 1033.9, "b": 1058.2, "c": 1033.8}
    result = found(times, noise=200.0)
    assert names(result) == []
    assert (result["case"], result["values"]["noisy"]) == ("none_for_certain", ["b"])
    assert names(found(times, noise=10.0)) == ["b"]
    assert names(found(times, noise=200.0, together=True)) == ["b"]


def test_a_node_of_too_few_steps_for_an_interval_is_no_straggler() -> None:
    few = {node: [value] * 4 for node, value in (CLUSTER | {"z": 125.5}).items()}
    assert names(of(few)) == []


def test_a_fast_node_is_no_straggler() -> None:
    assert names(found(CLUSTER | {"gpu15": 50.0})) == []


def fleet(nodes: int = 64, steps: int = 30, noise: float = 0.01, seed: int = 1) -> np.ndarray:
    """Return the step times of healthy nodes, a row each."""
    return 500.0 * (1 + noise * np.random.default_rng(seed).normal(size=(nodes, steps)))


def listed(times: np.ndarray, together: bool = False) -> dict[str, t.Any]:
    return of({f"gpu{node:02}": list(row) for node, row in enumerate(times)}, together=together)


def test_of_64_nodes_one_that_is_a_quarter_slower_in_a_fifth_of_its_steps_is_named() -> None:
    times = fleet()
    times[40, 3::5] *= 1.25
    (slow,) = listed(times)["nodes"]
    assert (slow["node"], slow["slow_steps"]) == ("gpu40", pytest.approx(0.2))
    assert slow["slower_then"] == pytest.approx(0.25, abs=0.02)
    assert abs(slow["slower"]) < 0.01 < slow["mean"] / slow["value"] - 1
    assert slow["p95"] == pytest.approx(625, rel=0.03)


def test_a_job_takes_as_long_as_the_slowest_node_of_each_step() -> None:
    times = np.full((4, 12), 100.0)
    for node in range(4):
        times[node, node::4] = 150.0
    result = listed(times)
    assert (names(result), result["step_time_cost"]) == ([], pytest.approx(0.5))
    assert result["throughput_cost"] == pytest.approx(1 / 3)


def test_in_one_job_a_node_that_is_slow_now_and_then_is_not_claimed() -> None:
    times = fleet()
    times[40, 3::5] *= 1.25
    assert names(listed(times, together=True)) == []


def slow_at_the_same_steps(times: np.ndarray) -> None:
    times[:, 4::5] *= 3


def slow_in_turn(times: np.ndarray) -> None:
    for node, row in enumerate(times):
        row[node % 10 :: 10] *= 1.5


def slow_by_chance(times: np.ndarray) -> None:
    times[np.random.default_rng(5).random(times.shape) < 0.05] *= 1.3


def slow_once(times: np.ndarray) -> None:
    times[7, 10:15] *= 1.3


@pytest.mark.parametrize(
    "change", [slow_at_the_same_steps, slow_in_turn, slow_by_chance, slow_once], ids=lambda change: change.__name__
)
def test_steps_that_any_node_may_have_accuse_none(change: t.Callable[[np.ndarray], None]) -> None:
    for seed in range(5):
        times = fleet(seed=seed)
        change(times)
        assert names(listed(times)) == []


def test_of_few_steps_a_node_may_have_some_that_are_not_slow() -> None:
    times = fleet(steps=8)
    times[9, [0, 1, 2, 4, 5, 6]] *= 1.3
    times[np.random.default_rng(6).random(times.shape) < 0.1] *= 1.3
    assert names(listed(times)) == []


@pytest.mark.slow
def test_of_healthy_fleets_of_64_nodes_none_is_accused() -> None:
    accused = [names(listed(fleet(steps=steps, noise=noise, seed=seed)))
        for steps, noise in ((8, 0.01), (12, 0.1), (30, 0.03)) for seed in range(15)]  # fmt: skip
    assert accused == [[]] * 45


def test_in_one_job_the_same_step_time_everywhere_says_nothing_about_a_node() -> None:
    result = found(dict.fromkeys("abcd", 100.0) | {"e": 100.4}, together=True)
    assert names(result) == []
    assert (result["case"], result["values"]["nodes"]) == ("same_pace", 5)


def test_two_nodes_show_what_they_cost_but_not_which_is_unusual() -> None:
    result = found({"a": 100.0, "b": 120.0}, noise=0.0)
    assert (result["nodes"], result["nodes_compared"]) == ([], 2)
    assert result["step_time_cost"] == pytest.approx(120 / 110 - 1)
    assert (result["case"], result["values"]) == ("two_nodes", {"spread": pytest.approx(0.2)})


def test_nodes_without_a_common_step_are_compared_by_their_medians() -> None:
    nan = float("nan")
    result = of({"a": [100.0] * 6 + [nan] * 6, "b": [nan] * 6 + [120.0] * 6})
    assert result["step_time_cost"] == pytest.approx(120 / 110 - 1)


@pytest.mark.parametrize(
    ("times", "case", "values"),
    [({}, "no_node", {}), ({"gpu01": 100.0}, "one_node", {"only": "gpu01"})],
)
def test_what_cannot_be_compared_is_told(times: dict[str, float], case: str, values: dict[str, str]) -> None:
    result = found(times, together=True)
    assert (result["case"], result["values"]) == (case, values)
    assert (result["step_time_cost"], result["median"]) == (None, None)
