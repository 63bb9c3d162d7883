# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the dumps of this folder: PyTorch 2.13 with Gloo on CPUs, four ranks. Rank 3 stays away.

TORCH_FR_BUFFER_SIZE=2000 torchrun --standalone --nproc-per-node 4 make_dumps.py

Each rank is in a group of two named TP and in one named DP. When rank 3 has stopped to take part, rank 1 waits for it
in DP and rank 2 in TP, and rank 0 waits for rank 2 in DP. NCCL's recorder writes the same format; Gloo's leaves the
lists of ranks in ``pg_config`` empty, and ``state`` is always "scheduled".
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import torch
from torch import distributed
from torch._C import _distributed_c10d

RANK = int(os.environ["RANK"])


def dump() -> None:
    time.sleep(10)
    Path(f"gloo_rank_{RANK}").write_bytes(_distributed_c10d._dump_fr_trace(includeStackTraces=False))
    # A rank that ends would let others go on.
    time.sleep(5)
    os._exit(0)


threading.Thread(target=dump).start()
distributed.init_process_group("gloo")
for _step in range(3):
    distributed.all_reduce(torch.ones(4))
GROUPS = {
    name: [distributed.new_group(ranks, group_desc=name) for ranks in members]
    for name, members in {"DP": ([0, 2], [1, 3]), "TP": ([0, 1], [2, 3])}.items()
}
for step in range(1, 6):
    if RANK == 3 and step == 4:
        time.sleep(600)
    distributed.all_reduce(torch.ones(16), group=GROUPS["TP"][RANK // 2])
    distributed.all_reduce(torch.ones(64, 2), group=GROUPS["DP"][RANK % 2])
