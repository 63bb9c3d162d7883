"""Tests of nodes that are processes: held, measured and let go."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from local_nodes import prober

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate import prober as prober_module
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.prober import ProbedNode

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


def test_a_slow_node_takes_more_processor_time_and_all_are_free_afterwards(tmp_path: Path, port: int) -> None:
    nodes = {"fast": HERE, "slow": ProbedNode("127.0.0.1", slowdown=2.0)}
    of = prober(tmp_path / "nodes", nodes, port)
    try:
        assert of.hold() == {}
        found = {(one.probe, *one.nodes): one for one in of.singles(list(nodes), "sweep")}
        assert all(one.samples and not one.problem for one in found.values())
        for probe in ("cpu", "memory"):
            assert min(found[probe, "slow"].samples) > 1.3 * min(found[probe, "fast"].samples)
    finally:
        assert of.let_go() == {}
    after = of.singles(["fast"], "sweep")
    assert all("not held" in one.problem for one in after)
    assert of.node_minutes > 0


def test_a_pair_is_measured_once_and_a_bad_link_takes_longer(tmp_path: Path, port: int) -> None:
    nodes = {"a": HERE, "b": HERE, "c": HERE}
    of = prober(tmp_path / "nodes", nodes, port, bad_links={frozenset("ac"): 3.0})
    try:
        of.hold()
        (good,) = of.pairs([("a", "b")], "sweep")
        (bad,) = of.pairs([("a", "c")], "sweep")
        assert (good.nodes, good.part, good.problem) == (("a", "b"), "link", "")
        assert min(bad.samples) > 2 * min(good.samples)
    finally:
        of.let_go()


def test_a_partner_that_cannot_be_reached_is_a_problem_of_the_pair(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prober_module, "_PATIENCE_SECONDS", 0.5)
    # Of TEST-NET-1, which nobody routes.
    of = prober(tmp_path / "nodes", {"a": ProbedNode("192.0.2.1"), "b": HERE}, port)
    try:
        of.hold()
        (pair,) = of.pairs([("a", "b")], "sweep")
        assert not pair.samples
        assert "192.0.2.1" in pair.problem
    finally:
        of.let_go()


def test_a_node_that_something_else_holds_is_left_alone_and_says_what_holds_it(tmp_path: Path, port: int) -> None:
    first = prober(tmp_path / "nodes", {"a": HERE}, port, name="first")
    second = prober(tmp_path / "nodes", {"a": HERE}, port, name="second")
    try:
        assert first.hold() == {}
        refused = second.hold()
        assert "held by run first" in str(refused["a"])
        assert all(one.problem for one in second.singles(["a"], "sweep"))
        second.let_go()
        assert all(one.samples for one in first.singles(["a"], "sweep"))
    finally:
        first.let_go()
