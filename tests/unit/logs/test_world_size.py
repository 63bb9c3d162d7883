from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece, Printed
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.known import GRAMMARS
from ansible_collections.trainops.cluster.plugins.module_utils.logs.world_size import RANKS, last_world_size


@pytest.mark.parametrize(
    ("framework", "line"),
    [
        (
            "megatron",
            "using world size: 16, data-parallel size: 2, context-parallel size: 1, tensor-model-parallel size: 8",
        ),
        ("maxtext", "Num_devices: 16, shape (1, 1, 16, 1)"),
        ("maxtext", "I1121 04:47:55.834344 139960362642304 maxtext_utils.py:2098] Num_devices: 16, shape (1, 16)"),
        ("nxdt", "[2026-07-26 00:30:17.232: I parallel_state.py:632] > initializing world size to 16"),
        ("nxdt", "All distributed processes registered. Starting with 16 processes"),
    ],
)
def test_the_world_size_that_a_trainer_prints_is_found(framework: str, line: str) -> None:
    told = GRAMMARS[framework].world_size
    assert last_world_size(told, Piece(f"noise\n{line}\nnoise\n".encode())) == 16
    assert last_world_size(told, Piece(f"noise\n{line[: line.index('16')]}\nnoise\n".encode())) is None


def test_another_world_size_is_not_taken_for_that_of_the_job() -> None:
    assert last_world_size(GRAMMARS["megatron"].world_size, Piece(b"data parallel world size: 2, x\n")) is None


TOLD = (Printed(b"size: ", b"size: " + RANKS),)


def test_the_last_one_counts() -> None:
    assert last_world_size(TOLD, Piece(b"size: 8, x\nsize: 16, x\nsize: none\n")) == 16


@pytest.mark.parametrize("text", [b"", b"noise\n", b"size: \n", b"size: 1"])
def test_no_whole_number_is_none(text: bytes) -> None:
    assert last_world_size(TOLD, Piece(text)) is None
