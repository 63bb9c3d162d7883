# SPDX-License-Identifier: GPL-3.0-or-later
"""Running other programs and slow look-ups side by side, none of them longer than it is given."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import typing as t
from collections.abc import Callable, Mapping, Sequence

# A task over SSH finds less in PATH than a login does.
_MORE_FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/opt/rocm/bin")
_LONGEST_WORDS = 300
_END_SECONDS = 5.0


class ToolError(Exception):
    """Why a tool or a look-up failed, in words for people."""


class MissingToolError(ToolError):
    """The tool is not installed."""


class SlowToolError(ToolError):
    """The tool did not answer in time."""


def run_tool(argv: Sequence[str], seconds: float, called: str = "") -> tuple[str, str]:
    """Return a program's standard output and error; ToolError if it fails or takes too long.

    ``called`` is the name of it in an error, for one that others start.
    """
    # A stage runs nothing, and would wait for this to load.
    import subprocess  # noqa: PLC0415

    environment = dict(os.environ, LC_ALL="C", PATH=os.pathsep.join([os.environ.get("PATH", ""), *_MORE_FOLDERS]))
    try:
        # Runs on a node without AnsibleModule.
        process = subprocess.Popen(  # pylint: disable=ansible-bad-function
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise MissingToolError(f"{argv[0]} is not installed") from None
    except OSError as error:
        raise ToolError(f"{argv[0]} cannot be run: {error.strerror}") from None
    try:
        output, errors = (part.decode("utf-8", "replace") for part in process.communicate(timeout=seconds))
    except subprocess.TimeoutExpired:
        # Kill the whole session: children of the program would keep the pipes open.
        os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            # A process that waits for a hanging driver survives even SIGKILL.
            process.communicate(timeout=_END_SECONDS)
        raise SlowToolError(f"{called or argv[0]} did not answer within {seconds:g} s") from None
    if process.returncode != 0:
        said = (errors.strip() or output.strip() or "no output").splitlines()[-1][:_LONGEST_WORDS]
        raise ToolError(f"{called or ' '.join(argv[:2])} failed (exit status {process.returncode}): {said}")
    return output, errors


def together(tasks: Mapping[str, Callable[[], t.Any]], seconds: float) -> dict[str, t.Any]:
    """Return the results of the tasks, run side by side; ToolError for a task that raised it or did not end in time.

    A task that hangs, for example on a dead network file system, is left behind: its thread ends with the process.
    """
    import threading  # noqa: PLC0415

    results: dict[str, t.Any] = {name: ToolError(f"no answer within {seconds:g} s") for name in tasks}

    def do(name: str, task: Callable[[], t.Any]) -> None:
        try:
            results[name] = task()
        except ToolError as error:
            results[name] = error
        except (AttributeError, LookupError, OSError, TypeError, ValueError) as error:
            # A tool or a file of another shape than is known here must not hide the rest of the node.
            results[name] = ToolError(f"unexpected data: {error!r}")

    threads = [threading.Thread(target=do, args=item, daemon=True) for item in tasks.items()]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return dict(results)
