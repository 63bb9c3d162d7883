"""Faults in the options of an isolation."""

from __future__ import annotations

import math
import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.options import (
    MOST_DAYS,
    Options,
    held_by,
    not_in_play,
    wrong_options,
    wrong_quarantine,
)

RIGHT: dict[str, t.Any] = {
    "name": "",
    "port": 29700,
    "rounds": 0,
    "least_effect": 3.0,
    "quarantine_days": 0.0,
    "slurm_wait": 30.0,
    "rehearsal": True,
    "rehearsal_bad_links": [],
    "probes": [],
}


def wrong(slowdowns: dict[str, t.Any] | None = None, **arguments: t.Any) -> list[str]:
    return wrong_options(Options(["a", "b", "c"], slowdowns or {}, {**RIGHT, **arguments}))


def test_what_is_right_is_not_wrong() -> None:
    assert wrong({"a": 1.3, "b": "1.5", "c": 1}, name="night-1", rehearsal_bad_links=["a,b", "b, c"]) == []


def test_all_that_is_wrong_is_named_at_once_with_host_and_value() -> None:
    bad = {"name": "../x", "port": 70000, "rounds": -1, "quarantine_days": -2.0}
    found = wrong({"a": 0.5, "b": "fast"}, **bad, rehearsal_bad_links=["a", "a,d", "a,a"])
    assert len(found) == 9
    for named in ("'../x'", "70000", "-1", "-2", "of a is 0.5", "of b is 'fast'", "'a'", "'a,d'", "'a,a'"):
        assert any(named in one for one in found), named


@pytest.mark.parametrize(
    ("name", "values", "right"),
    [
        ("quarantine_days", [36501.0, math.inf, math.nan], 36500.0),
        ("least_effect", [-0.1, 1000.0, math.nan], 0.0),
        ("slurm_wait", [0.0, -1.0, math.nan], 0.1),
        ("port", [0, 65533], 65532),
    ],
)
def test_numbers_beyond_their_limits_are_refused_before_anything_runs(
    name: str, values: list[t.Any], right: float
) -> None:
    assert wrong(**{name: right}) == []
    for value in values:
        (found,) = wrong(**{name: value})
        assert f"isolate_{name} is {value:g}" in found


def test_the_ports_of_adapters_have_to_be_ports_as_well() -> None:
    assert wrong(port=65000) == []
    for asked in ({"probes": ["ib_write_bw"]}, {"rehearsal": False}):
        (found,) = wrong(port=65000, **asked)
        assert "isolate_port" in found


def test_a_probe_that_there_is_not_is_named_with_those_that_there_are() -> None:
    (found,) = wrong(probes=["torch", "gemm"])
    assert "'gemm'" in found
    assert "nccl_tests" in found


def test_a_probe_that_is_named_twice_is_refused_as_no_node_may_answer_twice() -> None:
    (found,) = wrong(probes=["cpu", "tcp", "cpu"])
    assert "'cpu' 2 times" in found


@pytest.mark.parametrize("plan", [[], {}, {"nodes": ["a"], "options": {}}, {"nodes": [{"node": "a"}], "options": {}}])
def test_what_is_no_plan_of_an_isolation_is_refused_when_one_is_stopped(plan: t.Any) -> None:
    with pytest.raises(ValueError, match="does not belong to an isolation"):
        held_by(plan)
    assert held_by({"nodes": ["a"], "options": {"node_dir": "/x", "port": 1}, "tests": {}}) == (["a"], "/x")


def test_a_node_that_is_no_host_of_the_play_is_named_as_one_that_is_still_held() -> None:
    (found,) = not_in_play("night", ["a", "gone"], {"a", "b"})
    assert "gone" in found
    assert "night" in found


def test_bad_links_without_a_rehearsal_have_no_effect_and_are_refused() -> None:
    assert len(wrong(rehearsal=False, rehearsal_bad_links=["a,b"])) == 1


@pytest.mark.parametrize(
    ("days", "bad", "named"),
    [
        pytest.param(7, ["a", "c"], [], id="right"),
        pytest.param(MOST_DAYS, ["a"], [], id="the most"),
        pytest.param(0, ["a"], ["isolate_quarantine_days is 0"], id="no days"),
        pytest.param(MOST_DAYS + 1, ["a"], ["isolate_quarantine_days is"], id="too many days"),
        pytest.param(7, [], ["night suspects nobody"], id="nobody"),
        pytest.param(-1, ["d"], ["isolate_quarantine_days is -1", "d is not in this inventory"], id="two at once"),
    ],
)
def test_who_decides_on_a_quarantine_is_told_what_keeps_it_from_being_one(
    days: float, bad: list[str], named: list[str]
) -> None:
    said = wrong_quarantine("night", days, bad, {"a", "b", "c"})
    assert len(said) == len(named)
    assert all(name in one for name, one in zip(named, said, strict=True)), said
