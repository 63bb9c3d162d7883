"""A whole isolation of nodes that are processes of this machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from local_nodes import prober
from ports import free_port

from ansible_collections.trainops.cluster.plugins.module_utils.node.phase import RunGoneError
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.choice import BUILT_IN
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.isolation import StoppedError, isolate
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.outcome import blame_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.planned import PlannedTests, plan_tests
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.prober import ProbedNode, Prober
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.answers import Phase
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.node_errors import NodeLostError

HERE = ProbedNode("127.0.0.1")
NODES = ["a", "b", "c"]
TESTS = plan_tests(NODES, BUILT_IN.cost(), 60)


@pytest.fixture(autouse=True)
def _own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINOPS_LOCK_FOLDER", str(tmp_path / "locks"))


@pytest.mark.slow
def test_one_that_is_stopped_says_nothing_of_its_nodes_and_frees_them(tmp_path: Path) -> None:
    of = prober(tmp_path / "nodes", dict.fromkeys(NODES, HERE), free_port())
    said: list[str] = []
    with pytest.raises(StoppedError):
        isolate(of, TESTS, said.append, is_stopped=lambda: True)
    assert said == []
    assert of.singles(["a"], "sweep") == []
    assert [one["code"] for one in of.gone["a"].problems] == ["tests_over"]


def test_a_healthy_node_whose_hold_is_gone_is_untested_and_says_why(tmp_path: Path) -> None:
    of = prober(tmp_path / "nodes", dict.fromkeys(NODES, HERE), free_port())

    def settle(_prober: Prober, _nodes: Sequence[str]) -> tuple[PlannedTests, dict[str, str]]:
        prober(tmp_path / "nodes", {"b": HERE}, 1).let_go()
        return TESTS, {}

    found = isolate(of, TESTS, [].append, settle)
    assert (found["suspects"], found["nodes"]["b"]["verdict"]) == ([], "untested")
    assert found["nodes"]["b"]["reason"]


def test_a_node_that_may_still_be_held_is_said() -> None:
    def ask(phase: Phase, **_more: object) -> dict[str, object]:
        if phase.name == "stop":
            raise NodeLostError("it does not answer")
        return {"measured": [], "problems": {}}

    of, said = Prober(dict.fromkeys(NODES, HERE), dict.fromkeys(NODES, ask), 1, 1), []
    with pytest.raises(StoppedError):
        isolate(of, TESTS, said.append, is_stopped=lambda: True)
    assert any(line.startswith("a,b,c ") and "does not answer" in line for line in said)


def test_nodes_whose_hold_has_ended_are_asked_nothing_more_and_not_said_to_be_held() -> None:
    """For example the nodes of a Slurm step that somebody has cancelled."""

    def ask(phase: Phase, **_more: object) -> dict[str, object]:
        if phase.name in ("probe", "stop"):
            raise RunGoneError("job 7 was cancelled")
        return {}

    said: list[str] = []
    of = Prober(dict.fromkeys(NODES, HERE), dict.fromkeys(NODES, ask), 1, 1)
    found = isolate(of, TESTS, said.append)
    assert {one["verdict"] for one in found["nodes"].values()} == {"untested"}
    (line,) = said
    assert line.startswith("a,b,c are not tested to the end")


@pytest.mark.slow
def test_a_suspect_of_a_run_is_tested_again_and_its_report_says_what_came_of_that(tmp_path: Path) -> None:
    of = prober(tmp_path / "nodes", dict.fromkeys(NODES, HERE), free_port())
    said: list[str] = []
    found = isolate(of, TESTS, said.append, before={"b": "slow in the run", "gone": "lost"})
    assert any(line.startswith("Tested again: ") and "b" in line for line in said)
    assert [(one["node"], one["confirmed"]) for one in found["suspicion"]] == [("b", False), ("gone", None)]
    assert set(found["seconds"]) == {"cpu", "memory"}
    assert all(seconds > 0 for of_probe in found["seconds"].values() for seconds in of_probe.values())


def test_a_node_that_dies_in_its_tests_is_unreachable_and_its_partners_are_good() -> None:
    asked: Counter[str] = Counter()

    def ask_of(node: str) -> Any:
        def ask(phase: Phase, **more: Any) -> dict[str, object]:
            if phase.name != "probe":
                return {}
            asked[node] += 1
            if node == "b" and asked[node] > 1:
                raise NodeLostError("it does not answer")
            names = [name for name in more["probe"]["probes"] if name != "tcp"]
            measured = [{"probe": name, "part": name, "samples": [0.01], "problem": ""} for name in names]
            sent = {"probe": "tcp_throughput", "part": "link", "samples": [0.01], "problem": ""}
            problem = {"tcp": "the connection with b broke"}
            with_b = more["probe"].get("partner", {}).get("node") == "b"
            return {"measured": measured or [sent], "problems": problem if with_b else {}}

        return ask

    nodes = [*NODES, "d"]
    tests = plan_tests(nodes, BUILT_IN.cost(), 60)
    found = isolate(Prober(dict.fromkeys(nodes, HERE), {node: ask_of(node) for node in nodes}, 1, 1), tests, [].append)
    assert {node: (one["verdict"], one["unreachable"]) for node, one in found["nodes"].items()} == {
        **dict.fromkeys(nodes, ("good", False)),
        "b": ("untested", True),
    }
    assert found["suspects"] == []
    assert {node: one["state"] for node, one in blame_of(found).items()} == {"b": "unreachable"}
