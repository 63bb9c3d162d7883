# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast all GPUs of a node reduce together: all_reduce_perf of nccl-tests or rccl-tests."""

from __future__ import annotations

import typing as t

from ...phase import NodeError
from ..face import Found, Reading
from ..known import PROBES
from .command import FOLDERS, OPTIONS, PROGRAM, program_of, samples_in

if t.TYPE_CHECKING:
    from ...contracts import Asked
    from ..programs import Programs

NAME = "nccl_tests"


def found(programs: Programs) -> Found:
    """Return whether there are at least two GPUs, and the program."""
    gpus = programs.gpus()
    if gpus < 2:
        return Found(f"{gpus} GPUs are not enough for an all-reduce" if gpus else "there are no GPUs")
    return Found("" if program_of(programs) else f"{PROGRAM} is neither in PATH nor in {', '.join(FOLDERS)}")


def measure(_asked: Asked, programs: Programs) -> list[Reading]:
    """Return the seconds of an all-reduce of 512 MiB."""
    program = program_of(programs)
    if not program:
        raise NodeError(f"{PROGRAM} is not installed")
    output = programs.run(NAME, [program, "-g", str(programs.gpus()), *OPTIONS], PROBES[NAME].seconds)
    return [Reading("nccl_all_reduce", "GPUs", samples_in(output))]
