"""Facts about nodes: what is missing on them, whatever their speed."""

from __future__ import annotations

import pytest
from answering_nodes import NODES, Answer, isolated, there

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.node_facts import missing_parts
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.outcome import (
    blame_of,
    failing_nodes,
    findings_against,
    headline_of,
    verdict_of,
)

_MODELS = dict.fromkeys(NODES, "EPYC, MI300X")


@pytest.mark.parametrize(
    ("bad", "found"),
    [
        (there(gpus=7), [("others_at", {"gpus": 7, "usual": 8, "others": 7, "missing": ["0000:07:00.0"]})]),
        ({**there(gpus=7), "gpus": list("abcdefg")}, [("others", {"gpus": 7, "usual": 8, "others": 7})]),
        (there(on_bus=10), [("driver", {"gpus": 8, "on_bus": 10})]),
        (there(gpus=16), []),
        (there(mlx5_1="DOWN"), [("link", {"port": "mlx5_1/1", "state": "DOWN", "others": 7})]),
        (there(mlx5_1="ACTIVE at 100"), [("rate", {"port": "mlx5_1/1", "rate": 100, "usual": 400, "others": 7})]),
        (there(mlx5_1="ACTIVE at unknown"), []),
        (there(mlx5_1=""), [("port", {"port": "mlx5_1/1", "others": 7})]),
    ],
)
def test_a_node_lacks_what_the_others_have(bad: Answer, found: list[tuple[str, dict[str, object]]]) -> None:
    present = {node: bad if node == "n3" else there() for node in NODES}
    lacking = missing_parts(present, _MODELS, {})
    values = [{name: value for name, value in one["values"].items() if name != "part"} for one in lacking]
    assert [(one["case"], one["node"]) for one in lacking] == [(case, "n3") for case, _values in found]
    assert values == [of_case for _case, of_case in found]


def test_nodes_of_other_models_differ_and_one_without_gpus_is_of_the_model_of_its_processors() -> None:
    present = {node: there(gpus=4 if node in "n0 n1 n2" else 0 if node == "n7" else 8) for node in NODES}
    models = {node: "Xeon, L40S" if node in "n0 n1 n2" else "EPYC" if node == "n7" else "EPYC, H100" for node in NODES}
    assert [(one["node"], one["values"]["usual"]) for one in missing_parts(present, models, {})] == [("n7", 8)]


def test_the_inventory_counts_where_the_others_say_nothing_but_not_on_nodes_without_any_gpu() -> None:
    asked = dict.fromkeys(NODES, 8)
    found = missing_parts({"n0": there(gpus=7), "n1": there()}, {}, asked)
    assert [(one["node"], one["case"], one["values"]["asked"]) for one in found] == [("n0", "inventory", 8)]
    assert missing_parts({node: there(gpus=0) for node in NODES}, {}, asked) == []


def test_a_missing_gpu_is_said_before_any_probe_and_makes_its_node_broken_and_red() -> None:
    said: list[str] = []
    found = isolated(said=said, present=lambda node: there(gpus=7 if node == "n3" else 8))
    before = said.index(next(line for line in said if "n3" in line))
    assert before < next(place for place, line in enumerate(said) if line.startswith("Round 1"))
    assert [(one["node"], one["part"], one["verdict"]) for one in found["suspects"]] == [("n3", "GPUs", "broken")]
    assert (headline_of(found)["code"], verdict_of(found)) == ("missing", "suspects")
    assert (failing_nodes(found), list(blame_of(found)), list(findings_against(found))) == 3 * (["n3"],)
    assert found["nodes"]["n3"]["verdict"] == "broken"
    assert found["nodes"]["n3"]["reason"] == headline_of(found)["message"]


def test_a_missing_port_that_a_probe_finds_dead_as_well_is_one_suspect() -> None:
    found = isolated(present=lambda node: there(mlx5_1="DOWN" if node == "n3" else "ACTIVE at 400"))
    assert [(one["node"], one["part"], one["probe"]) for one in found["suspects"]] == [("n3", "HCA mlx5_1", "missing")]
