# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rank a log says that it is of."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.ranks import add_ranks, widest_communicator


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("[20261126 10:00:00][rank-8/16][INFO    ] [---trainer.py:120] : x\n", ["rank 8"]),
        ("GLOBAL_RANK: 8, MEMBER: 9/16\n", ["rank 8"]),
        # With torchrun's --role it is the rank of the node, and other nodes have the same.
        ("[rank0]:[titan] 2026-11-26 10:00:00,123 - root - INFO - x\n", []),
        ("[rank5]: Traceback (most recent call last):\n", []),
        ("[rank5]:[W1126 10:00:00.1 ProcessGroupNCCL.cpp:5188] Guessing device ID\n", []),
        # Of another rank.
        ("UserWarning: [rank3]: is slower than the others\n", []),
    ],
)
def test_a_rank_is_told_by_what_names_the_rank_of_the_job(text, ranks):
    assert add_ranks([], Piece(text.encode())) == ranks


def width(nodes: int, ranks: int) -> bytes:
    line = "gpu00:7:9 [0] NCCL INFO comm 0x55d0c0 rank 0 nRanks %d nNodes %d localRanks 8 localRank 0 MNNVL 0\n"
    return (line % (ranks, nodes)).encode()


def test_the_widest_communicator_is_kept_whatever_the_order() -> None:
    known = add_ranks([], Piece(b"x\n"))
    assert widest_communicator(known) is None
    known = add_ranks(known, Piece(width(1, 2) + width(1, 8)))
    assert widest_communicator(known) == (1, 8)
    known = add_ranks(known, Piece(width(2, 2) + width(1, 8)))
    assert widest_communicator(add_ranks(known, Piece(width(1, 8)))) == (2, 2)


def test_a_line_that_is_torn_tells_no_width() -> None:
    assert widest_communicator(add_ranks([], Piece(b"comm 0x5 rank 0 nRanks 16 nNodes 2"))) is None
