# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast the file system of the folder for isolations takes a checkpoint and gives data back: fio.

One file of large blocks is written from its beginning to its end and synced, and read again, past the cache if the file
system allows that (direct I/O). It runs on the node, which has fio, and not in a container.
"""

from __future__ import annotations

import os
import tempfile
import typing as t

from ...inspection.tools import ToolError, run_tool
from ...phase import NodeError
from ..face import SAMPLES, Found, Reading
from ..known import PROBES
from .output import seconds_in

if t.TYPE_CHECKING:
    from ...contracts import Asked
    from ..programs import Programs

NAME = PROGRAM = "fio"
_LOOK_SECONDS = 10.0
_SIZE, _BLOCK = 512 << 20, "4m"
# After that a job ends as it is: a slow disk is slow, and not one that fails.
_SECONDS_OF_JOB = 4


def found(_programs: Programs) -> Found:
    """Return whether fio is installed."""
    try:
        run_tool([PROGRAM, "--version"], _LOOK_SECONDS)
    except ToolError as error:
        return Found(str(error))
    return Found("")


def measure(_asked: Asked, programs: Programs) -> list[Reading]:
    """Return the seconds to write and sync 512 MiB, and to read them.

    Past the cache and through it are different measurements, which are compared only with their own kind.
    """
    with tempfile.TemporaryDirectory(dir=programs.node["run_folder"]) as folder:
        direct = takes_direct(folder)
        output = programs.run_on_node(command(folder, direct=direct), PROBES[NAME].seconds, PROGRAM)
    try:
        seconds = seconds_in(output, _SIZE)
    except ValueError as error:
        raise NodeError(f"fio printed no results: {error}") from None
    through = "" if direct else "_cached"
    return [Reading(f"{NAME}_{kind}{through}", "disk", samples) for kind, samples in seconds.items()]


def takes_direct(folder: str) -> bool:
    """Return whether the file system of a folder lets a file be written past its cache."""
    path = os.path.join(folder, "direct")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_DIRECT, 0o600))
    except OSError:
        return False
    return True


def command(folder: str, *, direct: bool) -> list[str]:
    """Return the command that writes and reads a file in a folder several times, one after the other."""
    once = [word for kind in ("write", "read") for word in (f"--name={kind}", f"--rw={kind}", "--stonewall")]
    return [
        *(PROGRAM, "--output-format=json", f"--directory={folder}", "--filename=data", f"--size={_SIZE}"),
        *(f"--bs={_BLOCK}", "--ioengine=psync", f"--direct={int(direct)}", "--end_fsync=1"),
        f"--runtime={_SECONDS_OF_JOB}",
        *(SAMPLES * once),
    ]
