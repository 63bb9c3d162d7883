# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a process begins in Megatron-LM's training log; its steps do not show that if it resumes with the next one.

Once per process, before the first step, ``pretrain()`` of megatron/training/training.py logs the timers of its start.
The last rank does so, which prints the steps as well; rank 0 prints most other lines of a start::

    (min, max) time across ranks (ms):
        model-and-optimizer-setup ......................: (23.15, 32.02)
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator

from ..find import Piece, Printed
from ..grammar import LAST_RANK, Grammar
from ..rows import FoundStep, FoundSteps
from . import megatron, megatron_failures

# Without "model", because strstr looks for two bytes first, and "mo" is in every "memory".
_BEGIN = b"-and-optimizer-setup"

# training.py and utils.py: by rank 0, the memory by the first rank of each data-parallel group.
_FIRST_RANK = (b"[before the start of training step]", b"[after training is done]")


def parse(piece: Piece, memory: dict[str, t.Any]) -> Iterator[FoundStep]:
    """Yield the steps of ``megatron.parse``, the first one after the begin of a process with ``new_process``."""
    begins = _begins(piece)
    if begins or "new_process" in memory:
        return _by_process(piece, begins, memory)
    return megatron.parse(piece, memory)


def parse_many(piece: Piece, memory: dict[str, t.Any]) -> Iterator[FoundSteps] | None:
    """Return the steps of ``megatron.parse_many``, or None if a process begins."""
    return None if _begins(piece) or "new_process" in memory else megatron.parse_many(piece)


def _begins(piece: Piece) -> list[int]:
    return list(piece.positions((_BEGIN,)))


def _by_process(piece: Piece, begins: list[int], memory: dict[str, t.Any]) -> Iterator[FoundStep]:
    for begin, end in zip([0, *begins], [*begins, len(piece.text)]):
        if begin in begins:
            memory["new_process"] = True
        for found in megatron.parse(Piece(piece.text[begin:end]), memory):
            yield {**found, "new_process": memory.pop("new_process", False)}


GRAMMAR = Grammar(
    parse,
    megatron.WORLD_SIZE,
    first_step=1,
    step_line="iteration N/ TOTAL | … | elapsed time per iteration (ms): …",
    printed_by=LAST_RANK,
    each_line=(
        "step_time_ms",
        "learning_rate",
        "consumed_samples",
        "global_batch_size",
        "skipped_iterations",
        "nan_iterations",
    ),
    settings=megatron.SETTINGS,
    arguments=megatron.ARGUMENTS,
    under_way=(*_FIRST_RANK, b" iterations) memory (MB) |"),
    first_rank=_FIRST_RANK,
    ends=_FIRST_RANK,
    # training.py, by rank 0. The averages that ROCm's scripts print last follow a crash too.
    over=(_FIRST_RANK[1],),
    starts=tuple(Printed(text, re.escape(text)) for text in (_FIRST_RANK[0], _BEGIN)),
    # save_checkpoint() of checkpointing.py, by rank 0; "successfully saved local checkpoint" counts too.
    saves=(b"saving checkpoint at iteration", (b"successfully saved ",)),
    # They show nan on nodes without steps.
    closing=tuple(megatron.CLOSING_LINES),
    # NCCL and the warnings of c10d, by each rank, and the lines of Primus.
    alive=(b" Init COMPLETE", b"Connected all rings", b"Connected all trees", b"]:[W", b"[rank-"),
    # NCCL has connected all ranks: whatever kept some from it is past.
    met=(b" Init COMPLETE",),
    left_out=megatron.left_out,
    summary=megatron.summary,
    helper_files=megatron_failures.HELPER_FILES,
    parse_many=parse_many,
)
