"""Which nodes of Slurm are tested."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.isolation_nodes import (
    Chosen,
    Wanted,
    chosen_nodes,
    shown_nodes,
)

SHOWN = """\
NodeName=gpu01 Arch=x86_64 CoresPerSocket=48 ActiveFeatures=mi300x,rack1 NodeAddr=10.0.0.1 State=ALLOCATED Owner=N/A
NodeName=gpu02 Arch=x86_64 CoresPerSocket=48 ActiveFeatures=mi300x,rack2 NodeAddr=10.0.0.2 State=IDLE Owner=N/A
NodeName=gpu03 ActiveFeatures=mi300x,rack1 NodeAddr=10.0.0.3 State=IDLE+DRAIN Reason=bad HCA [root@2026-11-27T09:15:04]
NodeName=gpu04 ActiveFeatures=(null) NodeAddr=gpu04 State=DOWN* Reason=Not responding [slurm@2026-11-26T01:00:00]
NodeName=gpu05 ActiveFeatures=mi300x,rack2 NodeAddr=gpu05 State=IDLE+CLOUD+POWERED_DOWN NextState=N/A
NodeName=gpu06 ActiveFeatures=mi300x,rack1 NodeAddr=gpu06 State=MIXED+PLANNED Owner=N/A
"""


def chosen(**wanted: Any) -> Chosen:
    return chosen_nodes(shown_nodes(SHOWN), "partition gpu", Wanted(**wanted))


def test_nodes_out_of_service_are_left_out_with_slurms_reason() -> None:
    nodes, out, problems = chosen()
    assert nodes == {"gpu01": "10.0.0.1", "gpu02": "10.0.0.2", "gpu05": "gpu05", "gpu06": "gpu06"}
    assert out == {
        "gpu03": "Slurm has it as IDLE+DRAIN: bad HCA (root)",
        "gpu04": "Slurm has it as DOWN*: Not responding (slurm)",
    }
    assert problems == []


def test_a_node_that_does_not_respond_is_left_out_before_slurm_has_it_down() -> None:
    (node,) = shown_nodes("NodeName=gpu07 NodeAddr=gpu07 State=IDLE* Owner=N/A")
    assert node.out == "Slurm has it as IDLE*"


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({"named": ["gpu06", "gpu01"]}, ["gpu06", "gpu01"]),
        ({"excluded": {"gpu01", "gpu03"}}, ["gpu02", "gpu05", "gpu06"]),
        ({"count": 3}, ["gpu01", "gpu02", "gpu05"]),
        ({"count": 2}, ["gpu02", "gpu05"]),
        ({"constraint": "mi300x&rack2"}, ["gpu02", "gpu05"]),
    ],
)
def test_names_exclusions_numbers_and_features_choose(wanted: dict[str, Any], names: list[str]) -> None:
    nodes, _out, problems = chosen(**wanted)
    assert list(nodes) == names
    assert problems == []


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"named": ["gpu01", "gpu99"], "named_by": "Run r1"}, "Run r1 lists gpu99, not in partition gpu"),
        ({"count": 5}, "training_slurm_nodes is 5, but of partition gpu 4 nodes"),
        ({"constraint": "[rack1|rack2]"}, "list them in isolate_slurm_nodes"),
    ],
)
def test_what_cannot_be_chosen_is_a_problem(wanted: dict[str, Any], said: str) -> None:
    (problem,) = chosen(**wanted).problems
    assert said in problem
