# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast the disk of the folder for isolations stores data safely, and reads it back."""

from __future__ import annotations

import os
import tempfile
import time
import typing as t

from ..face import SAMPLES, Reading

if t.TYPE_CHECKING:
    from ...contracts import Asked
    from ..programs import Programs

_BLOCK = 4 << 20
_BLOCKS = 16


def measure(_asked: Asked, programs: Programs) -> list[Reading]:
    """Return the seconds to write and sync 64 MiB, and to read them, past the cache."""
    # Zeros are nothing to a file system that compresses.
    block = os.urandom(_BLOCK)
    written, read = [], []
    for _sample in range(SAMPLES):
        with tempfile.TemporaryFile(dir=programs.node["run_folder"], buffering=0) as file:
            written.append(_seconds(lambda: _write(file, block)))
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            read.append(_seconds(lambda: _read(file)))
    return [Reading("disk_write", "disk", written), Reading("disk_read", "disk", read)]


def _seconds(work: t.Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _write(file: t.Any, block: bytes) -> None:
    for _block in range(_BLOCKS):
        file.write(block)
    os.fsync(file.fileno())


def _read(file: t.Any) -> None:
    file.seek(0)
    while file.read(_BLOCK):
        pass
