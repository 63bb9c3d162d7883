"""Inspecting nodes: what each is asked, and the file in the data cache that proves that all share it."""

from __future__ import annotations

import time
import typing as t
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.phase import NodeError
from ansible_collections.trainops.cluster.plugins.module_utils.node.phases.shared_file import shared_file
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.inspected import INSPECT, SHARED_FILE, inspected
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.node_errors import NodeLostError

NAMES = ("gpu01", "gpu02", "gpu03")


class Cluster:
    """Nodes that share the folder ``cache``, in place of their connections; ``asked`` is what each was asked."""

    def __init__(self, cache: Path, clocks: t.Mapping[str, t.Any] | None = None, **errors: Exception) -> None:
        self.cache, self.clocks, self.errors = cache, clocks or {}, errors
        self.asked: list[tuple[str, str]] = []
        self.there: dict[str, list[bool]] = {}

    def ask(self, name: str) -> t.Any:
        def ask(phase: t.Any, **needs: t.Any) -> dict[str, t.Any]:
            self.asked.append((name, phase.name))
            assert needs["check_mode"], "an inspection leaves nothing on a node"
            if name in self.errors:
                raise self.errors[name]
            if phase is SHARED_FILE:
                return shared_file(t.cast("t.Any", needs))
            paths = [Path(path) for path in needs["inspection"]["paths"]]
            self.there[name] = [path.exists() for path in paths if path.parent == self.cache]
            now = time.time()
            return {"facts": {"clock": self.clocks.get(name, {"began": now + 50, "time": now + 50})}}

        return ask

    def inspected(self, *, check_mode: bool = False, mode: str = "multi_node") -> t.Any:
        asks = {name: self.ask(name) for name in NAMES}
        return inspected(self.plan(mode), asks, 8, check_mode=check_mode)

    def plan(self, mode: str) -> t.Any:
        node = {"run_folder": "/r", "secrets": [], "working_dir": "/w", "script": "", "master_address": "a"}
        node |= {"env": {"DATA_CACHE_PATH": str(self.cache)}, "master_port": 6000, "image": None}
        nodes = [{"node": name, **node} for name in NAMES]
        return {"mode": mode, "container_engine": "none", "nodes": nodes}


def test_each_node_looks_for_a_file_of_rank_0_which_is_gone_at_the_end(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, gpu02=NodeError("no answer"))
    seen = cluster.inspected()
    assert cluster.there == {"gpu01": [True], "gpu03": [True]}
    assert Path(seen.probe).parent == tmp_path
    assert not list(tmp_path.iterdir())
    assert (set(seen.facts), {name: str(error) for name, error in seen.errors.items()}) == (
        {"gpu01", "gpu03"},
        {"gpu02": "no answer"},
    )


@pytest.mark.parametrize("options", [{"check_mode": True}, {"mode": "single_node"}])
def test_where_nothing_may_change_or_nothing_is_shared_there_is_no_file(tmp_path: Path, options: t.Any) -> None:
    cluster = Cluster(tmp_path)
    assert cluster.inspected(**options).probe is None
    assert {phase for _node, phase in cluster.asked} == {INSPECT.name}


def test_rank_0_is_asked_once_where_it_does_not_answer_and_the_others_are_inspected(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, gpu01=NodeLostError("nothing answers"))
    seen = cluster.inspected()
    assert [phase for node, phase in cluster.asked if node == "gpu01"] == [SHARED_FILE.name]
    assert (seen.probe, list(seen.errors), set(seen.facts)) == (None, ["gpu01"], {"gpu02", "gpu03"})


def test_the_clock_of_a_node_is_between_two_bounds(tmp_path: Path) -> None:
    least, most = Cluster(tmp_path).inspected().facts["gpu02"]["clock"]["offset_seconds"]
    assert 40 < least <= 50 <= most < 60


def test_an_error_that_is_no_nodes_leaves_no_file_either(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        Cluster(tmp_path, gpu03=KeyError("a fault of ours")).inspected()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "clock", [None, [], {}, {"time": 1.0}, {"time": "now", "began": 1.0}, {"time": 10**400, "began": 0}]
)
def test_a_node_without_a_believable_clock_spoils_no_other(tmp_path: Path, clock: t.Any) -> None:
    seen = Cluster(tmp_path, clocks={"gpu02": clock}).inspected()
    assert (set(seen.facts), list(seen.errors)) == ({"gpu01", "gpu03"}, ["gpu02"])
