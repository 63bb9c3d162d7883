# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rank a log says that it is of."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.ranks import add_ranks


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("[rank5]: Traceback (most recent call last):\n", ["rank 5"]),
        ("a\n[rank5]:[W1126 10:00:00.1 ProcessGroupNCCL.cpp:5188] Guessing device ID\n", ["rank 5"]),
        ("[rank5]:[E ProcessGroupNCCL.cpp:1316] [PG 0 Rank 5] Heartbeat monitor timed out!\n", ["rank 5"]),
        ("[20261126 10:00:00][rank-8/16][INFO    ] [---trainer.py:120] : x\n", ["rank 8"]),
        ("0: [default1]:[rank9]: Traceback\n", ["rank 9"]),
        # torchrun --role rank --tee: the rank of the node.
        ("[rank0]:[titan] 2026-11-26 10:00:00,123 - root - INFO - x\n", []),
        ("[rank0]:[titan] x\n[rank0]:[rank8]: Traceback\n", ["rank 8"]),
        # Of another rank.
        ("UserWarning: [rank3]: is slower than the others\n", []),
        ("the ranks [rank3]: and more\n" * 9 + "[rank5]: Traceback\n", ["rank 5"]),
    ],
)
def test_a_rank_is_told_by_what_stands_in_front_of_its_own_lines(text, ranks):
    assert add_ranks([], Piece(text.encode())) == ranks
