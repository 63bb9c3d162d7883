# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rank a log says that it is of."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.ranks import add_ranks


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
