# SPDX-License-Identifier: GPL-3.0-or-later
"""A rank that the trainer names as the slowest, line after line, makes its node a suspect, and fails nothing."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from training_logs import OVER, Node, judged, line

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.left_behind import suspects_of_run


def log(ranks: list[int]) -> str:
    """Return the log of a first rank, with a line of Megatron-LM's StragglerDetector after each step."""
    found = (
        f"{line(step, len(ranks))} 0: INFO:megatron.core.utils:[2026-01-02 03:04:05] | MnRtt/Rnk: 345.08ms/1 "
        f"| MxRtt/Rnk: 368.20ms/{rank} | MnEtpt/Rnk: 296.02TF/{rank} | MxEtpt/Rnk: 297.32TF/1\n"
        for step, rank in enumerate(ranks, start=1)
    )
    return "".join(found) + OVER


def suspects(ranks: list[int], folder: Path, pipeline: int = 1, **changes: t.Any) -> tuple[list[str], str]:
    parameters = {"gpus_per_node": 8, "pipeline_parallelism": pipeline, "iterations": len(ranks)}
    nodes = [Node("gpu0", log(ranks)), Node("gpu1", OVER)]
    summary = judged(nodes, folder, parameters=parameters, **changes)
    assert "slow_rank" not in {reason["code"] for reason in summary["reasons"]}
    message = next((note["message"] for note in summary["notes"] if note["code"] == "slow_rank"), "")
    return list(suspects_of_run(summary)), message


def test_the_node_of_a_rank_that_is_the_slowest_most_of_the_time_is_a_suspect(tmp_path: Path) -> None:
    found, message = suspects([4, *[11] * 12, 3], tmp_path)
    assert found == ["gpu1"]
    assert "rank 11 on gpu1 (GPU 3)" in message


@pytest.mark.parametrize(
    ("ranks", "pipeline"),
    [
        ([0, 11, 5, 3, 11, 9, 7, 2, 11, 4, 12, 6], 1),
        # Too few lines.
        ([11] * 9, 1),
        # The stages of a pipeline have different work.
        ([11] * 12, 2),
        # No node has such a rank.
        ([99] * 12, 1),
    ],
)
def test_without_that_nobody_is(ranks: list[int], pipeline: int, tmp_path: Path) -> None:
    assert suspects(ranks, tmp_path, pipeline) == ([], "")


def test_a_rehearsal_has_one_rank_on_each_node_and_no_pipeline(tmp_path: Path) -> None:
    assert suspects([1] * 10, tmp_path, pipeline=2, rehearsal=True)[0] == ["gpu1"]


def test_nodes_that_train_by_themselves_have_no_common_ranks(tmp_path: Path) -> None:
    assert suspects([11] * 12, tmp_path, mode="single_node") == ([], "")
