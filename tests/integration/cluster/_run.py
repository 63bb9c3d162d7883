# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a program, or say in one sentence why that did not work."""

from __future__ import annotations

import shlex
import subprocess
import time
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class ClusterError(Exception):
    """The error, in words for the person who typed the command."""


class CannotRunHereError(ClusterError):
    """This machine lacks something that the cluster needs; nothing was changed."""


def run(argv: Sequence[str], *, stdin: str | None = None) -> str:
    """Run ``argv`` with ``stdin`` as its input and return its output.

    Raises ClusterError with the command, its exit status and the end of its standard error.
    """
    try:
        done = subprocess.run(argv, input=stdin or "", capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError:
        raise ClusterError(f"{argv[0]}: no such program") from None
    if done.returncode != 0:
        complaint = (done.stderr.strip() or done.stdout.strip() or "it said nothing")[-2000:]
        raise ClusterError(f"`{shlex.join(argv)}` ended with {done.returncode}: {complaint}")
    return done.stdout


def run_aloud(argv: Sequence[str]) -> None:
    """Run ``argv``, which takes long, and print its standard error as it comes.

    Raises ClusterError as `run` does.
    """
    lines: list[str] = []
    try:
        with subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        ) as process:
            for line in process.stderr or ():
                print(line, end="", flush=True)
                lines.append(line)
    except FileNotFoundError:
        raise ClusterError(f"{argv[0]}: no such program") from None
    if process.returncode != 0:
        complaint = "".join(lines).strip()[-2000:]
        raise ClusterError(f"`{shlex.join(argv)}` ended with {process.returncode}: {complaint}")


def wait_until(condition: Callable[[], bool], *, seconds: float, interval: float = 0.05) -> bool:
    """Ask ``condition`` every ``interval`` seconds until it is true; False if it is not within ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(interval)
    return True
