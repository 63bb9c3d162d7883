# SPDX-License-Identifier: GPL-3.0-or-later
"""The command of an all-reduce of nccl-tests or rccl-tests, and how long the same work took by its output."""

from __future__ import annotations

import typing as t

from .output import rows_in

if t.TYPE_CHECKING:
    from ..programs import Programs

PROGRAM = "all_reduce_perf"
# Images that do not have it in PATH have it here.
FOLDERS = (
    "/opt/nccl-tests/build",
    "/opt/rccl-tests/build",
    "/workspace/nccl-tests/build",
    "/workspace/rccl-tests/build",
)
_MEBIBYTE = 1 << 20
_SIZE, _STEP, _SIZES = 512, 4, 5
# Options that all releases of both know. Sizes that hardly differ are samples of the same work.
OPTIONS = (
    *("-b", f"{_SIZE}M", "-e", f"{_SIZE + _STEP * (_SIZES - 1)}M", "-i", f"{_STEP}M"),
    *("-n", "20", "-w", "5", "-c", "1"),
)


def program_of(programs: Programs) -> str | None:
    """Return the path of the program, or None where neither the image nor the node has it."""
    return programs.where(PROGRAM, folders=FOLDERS)


def samples_in(output: str) -> list[float]:
    """Return the seconds of an all-reduce of 512 MiB by each row; ValueError for results that are wrong or missing."""
    rows = rows_in(output)
    wrong = sum(row.wrong or 0 for row in rows)
    if wrong:
        raise ValueError(f"{wrong} values of the result are wrong")
    return [sum(row.seconds) / len(row.seconds) * _SIZE * _MEBIBYTE / row.size for row in rows]
