# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast each GPU multiplies matrices, copies within its memory, and copies from and to the host, with PyTorch.

At last all GPUs multiply at the same time for 20 s, the load of a training: a GPU that cannot be cooled or supplied
becomes slow then.
"""

from __future__ import annotations

import typing as t

from ..face import Found, Reading
from ..known import PROBES
from .running import lines_in, part_of, ran

if t.TYPE_CHECKING:
    from ...contracts import Asked
    from ..programs import Programs

NAME = "torch"
_LOOK_SECONDS = 60
_LOAD_SECONDS = 20


def found(programs: Programs) -> Found:
    """Return whether the Python of the image, or of the node, has PyTorch that sees GPUs; they are the units."""
    gpus = int(ran("torch_count", ["--count"], _LOOK_SECONDS, programs).split()[-1])
    return Found("" if gpus else "PyTorch sees no GPU there", [f"GPU {number}" for number in range(gpus)])


def measure(asked: Asked, programs: Programs) -> list[Reading]:
    """Return the seconds of each kind of work of each GPU."""
    seconds = PROBES[NAME].seconds
    arguments = ["--slowdown", str(asked["slowdown"]), "--load", str(_LOAD_SECONDS), "--limit", str(seconds - 5)]
    if product := asked.get("product"):
        arguments += ["--product", *map(str, product)]
    lines = lines_in(ran(NAME, arguments, seconds, programs))
    broken = [Reading(PROBES[NAME].reading, part_of(line), [], line["problem"]) for line in lines if line["problem"]]
    return broken + [
        Reading(f"{NAME}_{work}", part_of(line), samples) for line in lines for work, samples in line["seconds"].items()
    ]
