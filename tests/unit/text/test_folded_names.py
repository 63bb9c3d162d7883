from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.text.nodes import folded, folded_messages


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["node1"], "node1"),
        (["gpu01", "gpu02", "gpu04"], "gpu[01-02,04]"),
        (["head", "node9", "node10"], "head,node[9-10]"),
        (["rack1-n1.lab", "rack1-n2.lab"], "rack1-n[1-2].lab"),
        (["10.0.0.7", "10.0.0.8"], "10.0.0.[7-8]"),
        (["no[name", "@group", "node1!node2"], "no[name,@group,node1!node2"),
    ],
)
def test_names_that_differ_in_numbers_are_folded_and_what_is_no_name_stays(names: list[str], text: str) -> None:
    assert folded(names) == text


def test_what_nodes_say_alike_is_said_once_and_what_is_odd_comes_first() -> None:
    nodes = [f"node{number}" for number in range(1, 65)]
    told = [(node, f"{node}: /logs/{node} is full") for node in nodes if node != "node7"]
    told += [("node7", "node7: no route to node70"), (None, "Nothing of node1 is known"), ("a", "a: at a loss")]
    assert folded_messages(told) == [
        "node7: no route to node70",
        "a: at a loss",
        "node[1-6,8-64]: /logs/node[1-6,8-64] is full",
        "Nothing of node1 is known",
    ]


def test_a_sentence_about_one_node_becomes_one_about_all() -> None:
    told = [(node, f"{node} was stopped; the clock of {node} is wrong.") for node in ("gpu1", "gpu2")]
    assert folded_messages(told) == ["gpu[1-2] were stopped; the clock of gpu[1-2] is wrong."]
    assert folded_messages(told[:1]) == ["gpu1 was stopped; the clock of gpu1 is wrong."]


def test_what_differs_only_in_address_port_or_path_is_said_once_with_that_of_the_first() -> None:
    told = [
        (f"n{i}", f"n{i}: ssh: connect to host 10.0.0.{i} port {2500 + i}: Connection refused.") for i in range(1, 65)
    ]
    told += [("n70", "n70: ssh: connect to host 10.0.0.70 port 22: No route to host")]
    refused = (
        "n[1-64]: ssh: connect to host 10.0.0.1 port 2501: Connection refused (shown for n1; the others are alike)."
    )
    assert folded_messages(told) == [told[-1][1], refused]


def test_nodes_with_the_same_cause_share_a_line_whatever_is_said_of_each() -> None:
    told = [
        (f"n{i}", f"n{i}: no such host name (ssh: Could not resolve hostname of-{i}.example)") for i in range(1, 65)
    ]
    told.append(("n70", "n70: the disk is full"))
    odd, same = folded_messages(told, {f"n{i}": "unknown_host" for i in range(1, 65)})
    assert odd == "n70: the disk is full"
    assert same.startswith("n[1-64]: no such host name (ssh: Could not resolve hostname of-1.example; ")
    assert len(folded_messages(told)) == len(told)
