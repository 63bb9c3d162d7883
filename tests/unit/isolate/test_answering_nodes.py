"""An isolation's conclusions from nodes' answers: from problems, from missing programs, and from nonsense."""

from __future__ import annotations

import typing as t

import pytest
from answering_nodes import NODES, has_all, has_none, healthy, isolated, reading

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.answers import Telemetry
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.outcome import blame_of, failing_nodes
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.planned import PlanError
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.isolation_write import isolation_lines


def verdicts(found: t.Any) -> dict[str, str]:
    return {node: one["verdict"] for node, one in found["nodes"].items()}


def test_nodes_of_which_a_probe_says_something_only_where_it_fails_are_good_without_it() -> None:
    found = isolated(named=["dcgm"], tools=has_all)
    assert set(verdicts(found).values()) == {"good"}
    assert "are good" in isolation_lines(found)[0]


def test_the_node_of_which_such_a_probe_finds_a_problem_twice_is_broken_and_the_others_are_good() -> None:
    def answer(node: str, _asked: t.Any) -> t.Any:
        failing = [reading("dcgm", "GPU 3", problem="memory: page retirement")] if node == "n2" else []
        return {"measured": failing, "problems": {}}

    found = isolated(answer, ["dcgm"], has_all)
    assert verdicts(found) == {node: "broken" if node == "n2" else "good" for node in NODES}


def test_a_program_that_is_named_and_that_no_node_has_is_an_error_before_any_test() -> None:
    asked: list[t.Any] = []

    def answer(node: str, of: t.Any) -> t.Any:
        asked.append(node)
        return healthy(node, of)

    with pytest.raises(PlanError, match="nccl_tests is not installed"):
        isolated(answer, ["nccl_tests"], has_none)
    assert asked == []


def test_nodes_that_lack_a_program_that_is_named_are_untested_with_the_reason_and_kept_from_nothing() -> None:
    found = isolated(
        healthy, ["cpu", "nccl_tests"], lambda node, names: (has_none if node == "n2" else has_all)(node, names)
    )
    assert verdicts(found) == {node: "untested" if node == "n2" else "good" for node in NODES}
    assert "nccl_tests is not installed" in found["nodes"]["n2"]["reason"]
    assert failing_nodes(found) == []


@pytest.mark.parametrize(
    "nonsense",
    [
        {"problems": {"gemm": "unknown"}},
        {"problems": {"tcp": "of a pair"}},
        {"measured": [reading("tcp_throughput", "link", [1.0])]},
        {"measured": [reading(f"more {number}", "cpu", [9.0]) for number in range(500)]},
    ],
)
def test_what_a_node_was_not_asked_for_counts_for_nothing(nonsense: t.Any) -> None:
    def answer(node: str, asked: t.Any) -> t.Any:
        said = healthy(node, asked)
        if node == "n0" and "partner" not in asked:
            return {
                "measured": said["measured"] + nonsense.get("measured", []),
                "problems": nonsense.get("problems", {}),
            }
        return said

    found = isolated(answer, tools=lambda _node, _names: {"unknown": {"lacks": "", "units": []}})
    assert set(verdicts(found).values()) == {"good"}
    assert set(found["probes"]) == {"cpu", "memory", "mean_of_readings", "tcp_throughput"}


def test_what_is_named_is_planned_in_words_only_once() -> None:
    said: list[str] = []
    isolated(healthy, ["cpu"], said=said)
    assert not any("Probes:" in line for line in said)


def test_a_time_that_no_clock_measures_is_an_answer_of_no_node() -> None:
    def answer(node: str, asked: t.Any) -> t.Any:
        said = healthy(node, asked)
        return {**said, "measured": [{**one, "samples": [1e-20]} for one in said["measured"]]} if node == "n3" else said

    found = isolated(answer)
    assert verdicts(found)["n3"] == "broken"
    assert all(seconds > 1e-9 for of_probe in found["seconds"].values() for seconds in of_probe.values())


def test_gpus_that_no_probe_tests_are_not_called_good() -> None:
    gpu = dict.fromkeys(Telemetry.__annotations__) | {"part": "GPU 0"}

    def answer(node: str, asked: t.Any) -> t.Any:
        return {**healthy(node, asked), "telemetry": [gpu]}

    assert "GPUs were not tested" in isolation_lines(isolated(answer))[0]
    assert "GPUs" not in isolation_lines(isolated(answer, ["cpu", "dcgm"], has_all))[0]
    assert "GPUs" not in isolation_lines(isolated())[0]


@pytest.mark.parametrize("kind", ["partner", "group", "node"])
def test_what_fails_everywhere_accuses_nobody_and_calls_nobody_good(kind: str) -> None:
    def answer(node: str, asked: t.Any) -> t.Any:
        if kind in asked or (kind == "node" and "cpu" in asked["probes"]):
            return {"measured": [], "problems": dict.fromkeys(asked["probes"], "no route to host")}
        return healthy(node, {"partner": {}, **asked})

    of_run = {"n3": "slow in the run"}
    probes = {"partner": ["cpu", "tcp"], "group": ["cpu", "tcp_groups"], "node": ["cpu", "tcp"]}
    found = isolated(answer, probes[kind], before=of_run)
    (probe,) = found["unmeasured"]
    assert found["suspects"] == []
    assert not {probe} & {*found["proof"], *found["probes"], *found["links"], *found["groups"]}
    head, *lines = isolation_lines(found)
    assert "are good" not in head
    assert f"{probe} failed {'on' if kind == 'node' else 'between'} all nodes" in head
    assert any(probe in line and "no route to host" in line for line in lines)
    blamed = blame_of(found)
    assert list(blamed) == NODES
    assert all("no route to host" in one["reason"] for one in blamed.values())
    assert blame_of(isolated()) == {}


def test_what_gpus_the_nodes_have_is_known_without_a_probe() -> None:
    assert isolated(gpu="NVIDIA H200").get("gpus") == dict.fromkeys(NODES, "NVIDIA H200")
    assert isolated().get("gpus") == {}


def test_the_price_of_second_tests_is_said_before_them() -> None:
    def answer(node: str, asked: t.Any) -> t.Any:
        said = healthy(node, asked)
        return {**said, "measured": [{**one, "samples": [0.1]} for one in said["measured"]]} if node == "n2" else said

    said: list[str] = []
    isolated(answer, ["cpu"], said=said)
    (price,) = (line for line in said if "node-minutes more" in line)
    # n2 and its seven references are tested twice, each time for 7 seconds at most.
    assert "0.2 minutes and 1.9 node-minutes" in price
    assert said.index(price) == len(said) - 1


def test_the_time_that_the_sweep_saves_is_for_second_tests() -> None:
    said: list[str] = []
    # Three proven nodes take three of the five suspects at a time, and the budget itself has room for two rounds.
    found = isolated(healthy, ["tcp"], said=said, budget=1.1, before=dict.fromkeys(NODES[:5], "slow in the run"))
    assert found["tests"]["confirming"] == 2
    assert not any("The budget leaves" in line for line in said)
    assert all(one["confirmed"] is False for one in found["suspicion"])
