# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast the GPUs of two nodes reduce together: all_reduce_perf, started on both by mpirun of the first one.

Nodes would have to reach each other by SSH without a password, as with mpirun, and a container rarely has a server.
"""

from __future__ import annotations

import typing as t

from ...phase import NodeError
from ..face import Found, Reading
from ..known import PROBES
from .command import OPTIONS, PROGRAM, program_of, samples_in

if t.TYPE_CHECKING:
    from ...contracts import Asked
    from ..programs import Programs

NAME = "nccl_tests_pairs"
_LAUNCHER = "mpirun"
# mpirun passes variables with these prefixes on to the other node.
_PASSED_ON = ("NCCL_", "RCCL_", "UCX_", "HSA_", "LD_LIBRARY_PATH")


def found(programs: Programs) -> Found:
    """Return whether there are GPUs, the program and mpirun."""
    lacks = [what for what, there in _needed(programs).items() if not there]
    return Found(f"it lacks {' and '.join(lacks)}" if lacks else "")


def measure(asked: Asked, programs: Programs) -> list[Reading]:
    """Return, on the node that starts the other one, the seconds of an all-reduce of 512 MiB."""
    partner = asked["partner"]
    if not partner["serves"]:
        return []
    lacks = found(programs).lacks
    if lacks:
        raise NodeError(lacks)
    output = programs.run(NAME, command(asked, programs), PROBES[NAME].seconds)
    return [Reading("nccl_all_reduce_pairs", "link", samples_in(output))]


def command(asked: Asked, programs: Programs) -> list[str]:
    """Return the command that reduces over all GPUs of both nodes, with a process for each GPU (Open MPI's options)."""
    gpus = programs.gpus()
    hosts = ",".join(f"{address}:{gpus}" for address in asked["partner"]["addresses"])
    launcher = [_LAUNCHER, "-np", str(2 * gpus), "--host", hosts, "--map-by", f"ppr:{gpus}:node", "--bind-to", "none"]
    passed_on = [word for name in sorted(programs.node["env"]) if name.startswith(_PASSED_ON) for word in ("-x", name)]
    return [*launcher, "--allow-run-as-root", *passed_on, str(program_of(programs)), "-g", "1", *OPTIONS]


def _needed(programs: Programs) -> dict[str, t.Any]:
    return {
        "GPUs": programs.gpus(),
        PROGRAM: program_of(programs),
        _LAUNCHER: programs.where(_LAUNCHER),
    }
