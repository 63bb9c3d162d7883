"""A program of a probe that goes on until the isolation is stopped, so that no test depends on who is faster."""

from __future__ import annotations

from pathlib import Path

FIO = """#!/bin/sh
[ "$1" = --version ] && echo fio-3.33 && exit
exec sleep 600
"""


def endless_fio(folder: Path) -> Path:
    """Write the program into a new folder, and return the folder."""
    folder.mkdir()
    (folder / "fio").write_text(FIO)
    (folder / "fio").chmod(0o755)
    return folder
