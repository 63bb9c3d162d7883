"""Slowness that many nodes share is said of what they share."""

from __future__ import annotations

import typing as t

from answering_nodes import NODES, Answer, healthy, isolated, reading

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.isolation import Isolation
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.outcome import (
    blame_of,
    headline_of,
    proven_nodes,
    verdict_of,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.together import slow_places
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.isolation_write import isolation_lines

RACKS = {node: f"spine/rack{number // 4}" for number, node in enumerate(NODES)}


def of_slow(slow: t.Collection[str], once: bool = False, **more: t.Any) -> Isolation:
    """Return the findings where some nodes take longer, perhaps only in their first test."""
    tested: set[str] = set()

    def answer(node: str, asked: t.Any) -> Answer:
        said = healthy(node, asked)
        if node in slow and "partner" not in asked and not (once and node in tested):
            tested.add(node)
            said["measured"] = [
                reading(one["probe"], one["part"], [1.3 * sample for sample in one["samples"]])
                for one in said["measured"]
            ]
        return said

    return isolated(answer, **more)


def test_half_of_the_nodes_are_accused_of_nothing_and_said_to_be_slow_with_their_rack_if_it_is_known() -> None:
    half = NODES[4:]
    found = of_slow(half, places=RACKS)
    (one,) = found["together"]
    assert (one["places"], one["nodes"], one["of"], one["probe"] in ("cpu", "memory")) == (
        ["spine/rack1"],
        half,
        4,
        True,
    )
    assert 0.28 < one["slower_by"] < 0.32
    assert (verdict_of(found), headline_of(found)["case"], blame_of(found)) == ("unproved", "place", {})
    assert proven_nodes(found) == NODES[:4]
    mixed = of_slow(NODES[::2], places=RACKS)
    assert [(one["places"], one["nodes"], one["of"]) for one in mixed["together"]] == [([], NODES[::2], 8)]
    assert of_slow(half, once=True)["together"] == []
    assert isolated()["together"] == []


def test_a_rack_whose_nodes_are_accused_is_named_and_its_nodes_are_not_listed() -> None:
    racks = {f"n{number:02}": f"spine/rack{number // 4}" for number in range(16)}
    slow = [node for node, rack in racks.items() if rack == "spine/rack2"]
    suspects: t.Any = [
        {"node": node, "other": None, "part": "cpu", "probe": "cpu", "slower_by": 0.2, "interval": (0.1, 0.3)}
        | {"verdict": "slow", "evidence": "cpu takes long"}
        for node in [*slow[:3], "n00"]
    ]
    (rack,) = slow_places(suspects, racks)
    assert (rack["places"], rack["nodes"], rack["of"]) == (["spine/rack2"], slow[:3], 4)
    assert slow_places(suspects[:2], racks) == []
    found = isolated()
    found["suspects"], found["together"] = suspects, [rack]
    assert (verdict_of(found), headline_of(found)["code"]) == ("suspects", "slow_together")
    text = "\n".join(isolation_lines(found))
    assert "spine/rack2" in text
    assert "n00 (cpu)" in text
    assert not any(f"{node} (cpu)" in text for node in slow)
