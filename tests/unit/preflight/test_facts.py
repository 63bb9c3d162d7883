"""What nodes say of themselves that none of ours says: it is refused, node by node, and spoils no other's cells."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from node_trees import bare, h100_cx7, mi300x_thor2, mi325x_ainic

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.facts import inspect
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.checks import preflight
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.facts import believed
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.needs import machine_plan

HOSTILE: list[Any] = [None, True, -1, 10**400, float("nan"), "\x1b[2Jgreen\nred", "\ud800", [], [None], {}]


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where each value stands in what a node says, of lists the first one."""
    yield place
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, (*place, key))
    elif isinstance(value, list) and value:
        yield from leaves(value[0], (*place, 0))


def with_value(said: dict[str, Any], place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    changed = copy.deepcopy(said)
    *path, last = place
    inner = changed
    for key in path:
        inner = inner[key]
    inner[last] = value
    return changed


def without(said: dict[str, Any], place: tuple[Any, ...]) -> dict[str, Any]:
    changed = copy.deepcopy(said)
    *path, last = place
    inner: Any = changed
    for key in path:
        inner = inner[key]
    del inner[last]
    return changed


def test_whatever_a_node_says_the_other_is_judged_and_the_table_is_plain(bench) -> None:
    nodes = bench(count=2)
    good = nodes[2]
    checks = [row["check"] for row in nodes.result()["rows"] if row["node"] == "gpu01"]
    refused = 0
    answers = [with_value(good, place, value) for place in leaves(good) for value in HOSTILE]
    answers += [without(good, place) for place in leaves(good) if place]
    for answer in answers:
        nodes.facts["gpu02"] = answer
        rows = nodes.result()["rows"]
        own = [row for row in rows if row["node"] == "gpu02"]
        refused += [row["check"] for row in own] == ["reached"]
        assert all(text.isprintable() and len(text) < 200_000 for row in own for text in map(str, row.values()))
        assert [row["check"] for row in rows if row["node"] == "gpu01"] == checks
    assert refused > len(answers) / 3


def test_why_a_node_could_not_be_inspected_is_plain_text(bench) -> None:
    nodes = bench()
    del nodes.facts["gpu02"]
    rows = preflight(nodes.plan, nodes.facts, problems={"gpu02": "Task failed: no\x1b[2J Python\x07 here"})["rows"]
    (reason,) = [row["reason"] for row in rows if row["node"] == "gpu02"]
    assert reason == "the node could not be inspected: no Python here"


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        (("gpus",), 8, "gpus: Input should be a valid dictionary"),
        (("network", "interfaces", "lo", "addresses", 0), "far", "network.interfaces.lo.addresses.0: Value error"),
        (("clock", "offset_seconds"), [0.1], "clock.offset_seconds: List should have at least 2 items"),
        (("rdma", "devices", 0, "ports"), {}, "rdma.devices.0.ports: Input should be a valid list"),
    ],
)
def test_a_node_that_is_not_believed_is_red_with_the_place(bench, place, value, why) -> None:
    nodes = bench()
    nodes.facts["gpu02"] = with_value(nodes[2], place, value)
    assert nodes.reds() == [("gpu02", "reached")]
    assert f"its answer cannot be believed, {why}" in nodes.cell("reached", 2)["reason"]


def test_what_this_machine_says_is_believed() -> None:
    said = json.loads(json.dumps(inspect(["/tmp", __file__], "127.0.0.1", 6000)))
    said["clock"]["offset_seconds"] = [0.0, 0.1]
    assert believed(said)["paths"][__file__]["kind"] == "file"
    rows = preflight(machine_plan(["here"], "none"), {"here": said})["rows"]
    assert "reached" not in {row["check"] for row in rows}


def test_what_each_kind_of_node_says_is_believed(tmp_path: Path) -> None:
    for tree in (mi300x_thor2, mi325x_ainic, h100_cx7, bare):
        said = inspect(["/etc"], root=str(tree(tmp_path / tree.__name__)))
        said["clock"]["offset_seconds"] = [0.0, 0.1]
        assert believed(json.loads(json.dumps(said)))
