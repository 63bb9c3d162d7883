"""Facts that no node of ours would send: they are refused, node by node, and spoil no other's cells."""

from __future__ import annotations

import copy
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from node_trees import bare, h100_cx7, mi300x_thor2, mi325x_ainic

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.facts import inspect
from ansible_collections.trainops.cluster.plugins.module_utils.node.phase import NodeError
from ansible_collections.trainops.cluster.plugins.module_utils.node.problems import problem
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.checks import preflight
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.facts import believed
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.needs import machine_plan
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.node_errors import refused

HOSTILE: list[Any] = [None, True, -1, 10**400, float("nan"), "\x1b[2Jgreen\nred", "\ud800", [], [None], {}]


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value in a node's answer; only the first item of lists."""
    yield place
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, (*place, key))
    elif isinstance(value, list) and value:
        yield from leaves(value[0], (*place, 0))


def with_value(said: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    changed = copy.copy(said)
    changed[place[0]] = with_value(said[place[0]], place[1:], value)
    return changed


def without(said: Any, place: tuple[Any, ...]) -> Any:
    changed = copy.copy(said)
    if len(place) == 1:
        del changed[place[0]]
    else:
        changed[place[0]] = without(said[place[0]], place[1:])
    return changed


@pytest.mark.slow
def test_whatever_nodes_say_the_other_is_judged_and_the_table_is_plain(bench) -> None:
    nodes = bench(count=40)
    good = nodes[1]
    checks = [row["check"] for row in nodes.result()["rows"] if row["node"] == "gpu01"]
    refused = 0
    answers = [with_value(good, place, value) for place in leaves(good) for value in HOSTILE]
    answers += [without(good, place) for place in leaves(good) if place]
    for begin in range(0, len(answers), 39):
        said = {f"gpu{number:02}": answer for number, answer in enumerate(answers[begin : begin + 39], 2)}
        nodes.facts.update(said)
        rows = nodes.result()["rows"]
        for name in said:
            own = [row for row in rows if row["node"] == name]
            refused += [row["check"] for row in own] == ["reached"]
            assert all(text.isprintable() and len(text) < 200_000 for row in own for text in map(str, row.values()))
        assert [row["check"] for row in rows if row["node"] == "gpu01"] == checks
    assert refused > len(answers) / 3


def test_why_a_node_could_not_be_inspected_decides_what_to_do(bench) -> None:
    nodes = bench(count=3)
    del nodes.facts["gpu02"], nodes.facts["gpu03"]
    errors = {"gpu02": refused(problem("become_password_missing")), "gpu03": NodeError("something else")}
    rows = preflight(nodes.plan, nodes.facts, errors=errors)["rows"]
    of_become, otherwise = [row for row in rows if row["check"] == "reached"]
    assert {of_become["code"], otherwise["code"]} == {"not_inspected"}
    assert (of_become["values"]["said"], otherwise["values"]["said"]) == (str(errors["gpu02"]), "something else")
    assert "--become" in of_become["command"]
    assert "--become" not in otherwise["command"]


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
    assert f"its answer is invalid: {why}" in nodes.cell("reached", 2)["values"]["said"]


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


def test_no_command_that_is_proposed_lets_a_node_choose_words_of_a_shell(bench) -> None:
    attack = "x; touch owned $(id) `id` | sh &"
    nodes = bench(nccl_ib_hca_list=None, nccl_socket_ifname=None, gloo_socket_ifname=None)
    bad = copy.deepcopy(nodes[2])
    bad["rdma"]["devices"][0]["ports"][0]["state"] = "DOWN"
    bad["paths"] = {path: {**facts, "writable": False} for path, facts in bad["paths"].items()}
    shown = set()
    for place in leaves(bad):
        nodes.facts["gpu02"] = with_value(bad, place, attack)
        for row in nodes.result()["rows"]:
            by_person, _check, command = row["command"].partition("; to check: ")
            shown.add(command if by_person.startswith("manual step: ") else row["command"])
    assert not [command for command in shown if attack in command.replace(shlex.quote(attack), "")]
