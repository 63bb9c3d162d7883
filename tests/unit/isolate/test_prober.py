"""Tests of nodes that are processes: they are held, measured and let go."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from local_nodes import prober

from ansible_collections.trainops.cluster.plugins.module_utils.node.phase import NodeError
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes import programs
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.dcgm import probe as dcgm_probe
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.known import PROBES
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.torch import probe as torch_probe
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate import prober as prober_module
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.choice import Chosen
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.holding import held_nodes
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.prober import ProbedNode, Prober

HERE = ProbedNode("127.0.0.1")


@pytest.fixture
def port() -> int:
    """Return a port that is free, for a pair."""
    with socket.socket() as free:
        free.bind(("", 0))
        return int(free.getsockname()[1])


@pytest.fixture(autouse=True)
def _own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINOPS_LOCK_FOLDER", str(tmp_path / "locks"))


def test_a_slow_node_of_a_rehearsal_states_more_seconds_and_all_are_free_afterwards(tmp_path: Path, port: int) -> None:
    nodes = {"fast": HERE, "slow": ProbedNode("127.0.0.1", slowdown=4.0)}
    of = prober(tmp_path / "nodes", nodes, port)
    try:
        assert of.hold() == {}
        found = {(one.probe, *one.nodes): one for one in of.singles(list(nodes), "sweep")}
        assert all(one.samples and not one.problem for one in found.values())
        for probe in ("cpu", "memory"):
            assert found[probe, "slow"].samples == pytest.approx([4 * s for s in found[probe, "fast"].samples])
    finally:
        assert of.let_go() == {}
    assert of.node_minutes > 0


@pytest.mark.slow
def test_a_node_whose_hold_is_gone_is_untested_and_so_is_a_pair_with_it(tmp_path: Path, port: int) -> None:
    of = prober(tmp_path / "nodes", {"a": HERE, "b": HERE, "c": HERE}, port)
    try:
        of.hold()
        assert prober(tmp_path / "nodes", {"b": HERE}, port).let_go() == {}
        assert {node for one in of.singles(["a", "b"], "sweep") for node in one.nodes} == {"a"}
        assert [one["code"] for one in of.gone["b"].problems] == ["tests_over"]
        pairs = of.pairs([("a", "c"), ("a", "b")], "sweep")
        assert sorted((one.nodes, one.problem) for one in pairs) == [(("a", "c"), ""), (("c", "a"), "")]
    finally:
        of.let_go()


def test_no_hold_begins_before_every_node_is_staged() -> None:
    asked = []
    of = Prober(
        dict.fromkeys("abcdef", HERE),
        {node: lambda phase, node=node, **_more: asked.append((phase.name, node)) or {} for node in "abcdef"},
        at_once=2,
        port=1,
    )
    assert of.hold() == {}
    assert [name for name, _node in asked] == ["stage"] * 6 + ["start"] * 6


def test_nodes_may_take_as_long_as_their_probes_before_they_are_late() -> None:
    waits: list[tuple[str, float]] = []

    def ask(_phase: object, *, probe: Any, wait_seconds: float, **_more: object) -> dict[str, Any]:
        waits.append((probe["probes"][0], wait_seconds))
        return {"measured": [], "problems": {}}

    names = ("agfhc", "rvs", "tcp", "tcp_groups")
    of = Prober(dict.fromkeys("ab", HERE), dict.fromkeys("ab", ask), at_once=2, port=1, chosen=Chosen(names))
    of.singles(["a"], "sweep")
    of.pairs([("a", "b")], "sweep")
    of.groups([["a", "b"]], "sweep")
    seconds = {name: PROBES[name].seconds for name in names}
    assert len(waits) == 5
    for name, wait in waits:
        assert wait > seconds[name] + (seconds["rvs"] if name == "agfhc" else 0)


def test_a_hold_lasts_for_the_slowest_look_for_tools_as_well_as_for_the_tests(tmp_path: Path) -> None:
    _plan, (part,) = held_nodes("isolation", {"a": "127.0.0.1"}, str(tmp_path), 60)
    looks = torch_probe._LOOK_SECONDS + 5 * programs._LOOK_SECONDS + dcgm_probe._LOOK_SECONDS
    assert int(part["argv"][-1]) > 60 + looks


def test_a_pair_is_measured_once_each_way_and_a_bad_link_takes_longer(tmp_path: Path, port: int) -> None:
    nodes = {"a": HERE, "b": HERE, "c": HERE}
    of = prober(tmp_path / "nodes", nodes, port, bad_links={frozenset("ac"): 3.0})
    try:
        of.hold()
        good, back = sorted(of.pairs([("a", "b")], "sweep"), key=lambda one: one.nodes)
        bad = of.pairs([("a", "c")], "sweep")
        assert [(one.nodes, one.part, one.problem, one.one_way) for one in (good, back)] == [
            (("a", "b"), "link", "", True),
            (("b", "a"), "link", "", True),
        ]
        assert [one.samples for one in bad] == [pytest.approx([3 * seconds for seconds in good.samples])] * 2
    finally:
        of.let_go()


def test_a_group_is_measured_once_and_is_as_slow_as_its_slowest_node_and_link(tmp_path: Path, port: int) -> None:
    nodes = {**dict.fromkeys("abcde", HERE), "slow": ProbedNode("127.0.0.1", slowdown=2.5)}
    bad = {frozenset("de"): 2.5}
    of = prober(tmp_path / "nodes", nodes, port, bad_links=bad, chosen=Chosen(("tcp_groups",)))
    try:
        of.hold()
        (good,) = of.groups([("a", "b", "c")], "sweep")
        with_slow, with_link = of.groups([("a", "slow", "b"), ("c", "d", "e")], "sweep")
    finally:
        of.let_go()
    assert (good.probe, good.part, good.nodes, good.problem) == ("tcp_groups", "groups", ("a", "b", "c"), "")
    for slow in (with_slow, with_link):
        assert slow.samples == pytest.approx([2.5 * seconds for seconds in good.samples])


@pytest.mark.slow
def test_a_group_goes_on_without_a_node_that_is_not_held_and_says_nothing_where_one_is_lost_meanwhile(
    tmp_path: Path, port: int
) -> None:
    of = prober(tmp_path / "nodes", dict.fromkeys("abcd", HERE), port, chosen=Chosen(("tcp_groups",)))
    try:
        of.hold()
        of.gone["b"] = NodeError("its hold is gone")
        (without,) = of.groups([("a", "b", "c", "d")], "sweep")
        assert (without.nodes, without.problem) == (("a", "c", "d"), "")
        prober(tmp_path / "nodes", {"c": HERE}, port).let_go()
        of = prober(tmp_path / "nodes", dict.fromkeys("acd", HERE), port, chosen=Chosen(("tcp_groups",)))
        assert of.groups([("a", "c")], "sweep") == []
    finally:
        of.let_go()


def test_a_node_of_a_group_that_cannot_be_reached_is_a_problem_of_the_group(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prober_module, "_PATIENCE_SECONDS", 0.5)
    nodes = {"a": HERE, "b": ProbedNode("192.0.2.1"), "c": HERE}
    of = prober(tmp_path / "nodes", nodes, port, chosen=Chosen(("tcp_groups",)))
    try:
        of.hold()
        (group,) = of.groups([("a", "b", "c")], "sweep")
    finally:
        of.let_go()
    assert not group.samples
    assert "192.0.2.1" in group.problem


def test_a_partner_that_cannot_be_reached_is_a_problem_of_the_pair(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prober_module, "_PATIENCE_SECONDS", 0.5)
    # From TEST-NET-1, which nobody routes.
    of = prober(tmp_path / "nodes", {"a": ProbedNode("192.0.2.1"), "b": HERE}, port)
    try:
        of.hold()
        found = of.pairs([("a", "b")], "sweep")
        assert {one.nodes for one in found} == {("a", "b"), ("b", "a")}
        assert not any(one.samples for one in found)
        assert all("192.0.2.1" in one.problem for one in found)
    finally:
        of.let_go()


def test_a_node_that_something_else_holds_is_left_alone_and_says_what_holds_it(tmp_path: Path, port: int) -> None:
    first = prober(tmp_path / "nodes", {"a": HERE}, port, name="first")
    second = prober(tmp_path / "nodes", {"a": HERE}, port, name="second")
    try:
        assert first.hold() == {}
        refused = second.hold()
        assert "held by run first" in str(refused["a"])
        assert second.singles(["a"], "sweep") == []
        assert second.gone["a"].problems[0]["code"] in ("tests_over", "other_run", "other_run_and_plan")
        second.let_go()
        assert all(one.samples for one in first.singles(["a"], "sweep"))
    finally:
        first.let_go()
