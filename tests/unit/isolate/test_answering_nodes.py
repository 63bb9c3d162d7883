"""What an isolation concludes of what nodes answer: of problems, of programs that they lack, and of nonsense."""

from __future__ import annotations

import typing as t

from answering_nodes import NODES, has_all, isolated, reading

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.isolation_write import isolation_lines


def verdicts(found: t.Any) -> dict[str, str]:
    return {node: one["verdict"] for node, one in found["nodes"].items()}


def test_nodes_of_which_a_probe_says_something_only_where_it_fails_are_good_without_it() -> None:
    found = isolated(named=["dcgm"], tools=has_all)
    assert set(verdicts(found).values()) == {"good"}
    assert "are good" in isolation_lines(found)[0]


def test_the_node_of_which_such_a_probe_finds_a_problem_twice_is_broken_and_the_others_are_good() -> None:
    def answer(node: str, asked: t.Any) -> t.Any:
        failing = [reading("dcgm", "GPU 3", problem="memory: page retirement")] if node == "n2" else []
        return {"measured": failing, "problems": {}}

    found = isolated(answer, ["dcgm"], has_all)
    assert verdicts(found) == {node: "broken" if node == "n2" else "good" for node in NODES}
