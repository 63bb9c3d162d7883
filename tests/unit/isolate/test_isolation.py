"""A whole isolation of nodes that are processes of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from local_nodes import prober
from ports import free_port

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.choice import BUILT_IN
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.isolation import StoppedError, isolate
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.planned import plan_tests
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.prober import ProbedNode

HERE = ProbedNode("127.0.0.1")
NODES = ["a", "b", "c"]
TESTS = plan_tests(NODES, BUILT_IN.cost(), 60)


@pytest.fixture(autouse=True)
def _own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINOPS_LOCK_FOLDER", str(tmp_path / "locks"))


def test_one_that_is_stopped_says_nothing_of_its_nodes_and_frees_them(tmp_path: Path) -> None:
    of = prober(tmp_path / "nodes", dict.fromkeys(NODES, HERE), free_port())
    said: list[str] = []
    with pytest.raises(StoppedError):
        isolate(of, TESTS, said.append, is_stopped=lambda: True)
    assert said == []
    assert all("not held" in one.problem for one in of.singles(["a"], "sweep"))


def test_a_suspect_of_a_run_is_tested_again_and_its_report_says_what_came_of_that(tmp_path: Path) -> None:
    of = prober(tmp_path / "nodes", dict.fromkeys(NODES, HERE), free_port())
    said: list[str] = []
    found = isolate(of, TESTS, said.append, before={"b": "slow in the run", "gone": "lost"})
    assert any(line.startswith("Tested again: ") and "b" in line for line in said)
    assert [(one["node"], one["confirmed"]) for one in found["suspicion"]] == [("b", False), ("gone", None)]
    assert set(found["seconds"]) == {"cpu", "memory"}
    assert all(seconds > 0 for of_probe in found["seconds"].values() for seconds in of_probe.values())
