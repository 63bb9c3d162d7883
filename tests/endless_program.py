"""A program of a probe that goes on until the isolation is stopped, so that no test depends on who is faster."""

from __future__ import annotations

from pathlib import Path

ANSWERS = """[ "$1" = --version ] && echo fio-3.33 && exit
"""
GOES_ON = """touch "$0.started"
exec sleep 600
"""


def endless_fio(folder: Path, *, answers: bool = True) -> Path:
    """Write the program into a new folder, and return the folder.

    ``fio.started`` is there as well once it goes on. Without ``answers`` it even does so when asked for its version.
    """
    folder.mkdir()
    (folder / "fio").write_text("#!/bin/sh\n" + (ANSWERS if answers else "") + GOES_ON)
    (folder / "fio").chmod(0o755)
    return folder
