# SPDX-License-Identifier: GPL-3.0-or-later
"""Stragglers among nodes, and what they cost."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.stragglers import stragglers_of


def found(
    times: dict[str, float], deviations: float = 5.0, together: bool = False, noise: float = 0.1
) -> dict[str, t.Any]:
    """Return the stragglers among nodes whose medians are known to so many ms."""
    by_node = {
        node: {"step_time_ms": {"median": value, "interval": {"low": value - noise, "high": value + noise}}}
        for node, value in times.items()
    }
    return stragglers_of(by_node, deviations, together=together)


CLUSTER = {f"gpu{rank:02}": 100.0 + 0.2 * (rank % 5) for rank in range(15)}


def test_a_node_that_is_slower_than_the_others_by_many_deviations_is_named_with_its_cost() -> None:
    result = found(CLUSTER | {"gpu15": 125.5})
    (slow,) = result["nodes"]
    assert (slow["node"], slow["value"]) == ("gpu15", 125.5)
    assert slow["slower"] == pytest.approx(0.25, abs=0.003)
    assert slow["deviations"] > 5
    assert result["step_time_cost"] == pytest.approx(0.25, abs=0.003)
    assert result["throughput_cost"] == pytest.approx(0.2, abs=0.003)
    assert result["message"].startswith("Stragglers: gpu15 (25.0% slower), against a median of 100.4 ms on 16 nodes")
    assert result["message"].endswith("of throughput in a job over all of these nodes.")


def test_how_many_deviations_it_takes_is_asked_for() -> None:
    times = CLUSTER | {"gpu15": 102.0}
    assert [one["node"] for one in found(times, 3.0)["nodes"]] == ["gpu15"]
    assert found(times, 50.0)["nodes"] == []
    assert found(times, 50.0)["message"] == "No node of 16 is slower than the others by more than 50 deviations."


def test_a_node_that_is_hardly_slower_is_none_however_much_the_others_agree() -> None:
    assert found(dict.fromkeys("abcdefg", 100.0) | {"h": 100.9})["nodes"] == []
    assert [one["node"] for one in found(dict.fromkeys("abcdefg", 100.0) | {"h": 102.0})["nodes"]] == ["h"]


def test_a_node_by_itself_whose_own_steps_vary_more_is_no_straggler() -> None:
    times = {"a": 1033.9, "b": 1058.2, "c": 1033.8}
    result = found(times, noise=200.0)
    assert result["nodes"] == []
    assert result["message"] == (
        "No node of 3 is slower than the others by more than 5 deviations, except b, whose steps vary too much "
        "or are too few."
    )
    assert [one["node"] for one in found(times, noise=20.0)["nodes"]] == ["b"]
    assert [one["node"] for one in found(times, noise=200.0, together=True)["nodes"]] == ["b"]


def test_a_node_of_too_few_steps_for_an_interval_is_no_straggler() -> None:
    by_node = {
        node: {"step_time_ms": {"median": value, "interval": None}} for node, value in (CLUSTER | {"z": 125.5}).items()
    }
    assert stragglers_of(by_node, 5.0, together=False)["nodes"] == []


def test_a_fast_node_is_no_straggler() -> None:
    assert found(CLUSTER | {"gpu15": 50.0})["nodes"] == []


def test_in_one_job_the_same_step_time_everywhere_says_nothing_about_a_node() -> None:
    result = found(dict.fromkeys("abcd", 100.0) | {"e": 100.4}, together=True)
    assert result["nodes"] == []
    assert "this does not show which one is slow" in result["message"]


def test_two_nodes_show_what_they_cost_but_not_which_is_unusual() -> None:
    result = found({"a": 100.0, "b": 120.0})
    assert (result["nodes"], result["nodes_compared"]) == ([], 2)
    assert result["step_time_cost"] == pytest.approx(120 / 110 - 1)
    assert result["message"].startswith("Two nodes differ by 20.0% in step time")


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ({}, "Nodes cannot be compared: no node has counted step times."),
        ({"gpu01": 100.0}, "Nodes cannot be compared: only gpu01 has counted step times."),
    ],
)
def test_what_cannot_be_compared_is_told(times: dict[str, float], message: str) -> None:
    result = found(times, together=True)
    assert (result["message"], result["step_time_cost"], result["median"]) == (message, None, None)
