# SPDX-License-Identifier: GPL-3.0-or-later
"""Running programs where a training would run: in the container of the node's holder, or on the node itself.

Each is a script in the folder of the isolation, with the environment of a training, so that it can be read, and started
by hand to repeat a test.
"""

from __future__ import annotations

import os
import shlex
import typing as t

from ..files import write_text
from ..inspection.gpus import first_vendor
from ..inspection.tools import MissingToolError, ToolError, run_tool
from ..interfaces import with_interfaces
from ..launch import exports
from ..phase import NodeError
from ..processes import labels

if t.TYPE_CHECKING:
    from ..contracts import Request, State

_GRACE_SECONDS = 5
_LOOK_SECONDS = 15.0
# How timeout(1) says that the time was over.
_TOO_LONG = "(exit status 124)"


class Programs:
    """Runs programs for the probes of one node, held with some state; ``check`` raises once the hold is gone."""

    def __init__(self, request: Request, state: State, check: t.Callable[[], object] = lambda: None) -> None:
        """Prepare for the node of a request."""
        self._check = check
        self.node = with_interfaces(request["node"])
        marks = labels(request["run_id"], self.node["node"])
        self._marks = ["env", *(f"{name}={value}" for name, value in marks.items())]
        container = state["handle"].get("container")
        self._around = [state["engine"], "exec", container] if container else []

    def run(
        self, name: str, argv: t.Sequence[str], seconds: float, environment: t.Mapping[str, str] | None = None
    ) -> str:
        """Return the standard output of a program; `NodeError` if it fails or takes too long.

        ``name`` is the name of its script, ``environment`` is added to the environment of a training.
        """
        path = os.path.join(self.node["run_folder"], f"{name}.sh")
        env = {**self.node["env"], **(environment or {})}
        lines = ["#!/usr/bin/env bash", *exports(env), f"exec {' '.join(shlex.quote(word) for word in argv)}", ""]
        write_text(path, "\n".join(lines), 0o750)
        try:
            return self._run(["bash", path], seconds, argv[0])
        except ToolError as error:
            raise _in_words(error, argv[0], seconds) from None

    def where(self, *names: str, folders: t.Sequence[str] = ()) -> str | None:
        """Return the path of the first of some programs that is there, in PATH or else in one of the folders."""
        paths = [*names, *(f"{folder}/{name}" for folder in folders for name in names)]
        looks = " || ".join(f"command -v {shlex.quote(path)}" for path in paths)
        try:
            return self._run(["bash", "-c", looks], _LOOK_SECONDS, names[0]).strip() or None
        except ToolError:
            return None

    def run_on_node(self, command: t.Sequence[str], seconds: float, called: str) -> str:
        """Return the output of a command outside of any container; `NodeError` if it fails or takes too long.

        It carries the same mark as the node's holder, and so ends with it.
        """
        try:
            return self._limited(self._marks, command, seconds, called)
        except ToolError as error:
            raise _in_words(error, called, seconds) from None

    def gpus(self) -> int:
        """Return how many GPUs the node has, by the files of its driver, or else by nvidia-smi."""
        devices = first_vendor("/")[1]
        if devices:
            return len(devices)
        try:
            listed = run_tool(["nvidia-smi", "--list-gpus"], _LOOK_SECONDS)[0]
        except ToolError:
            return 0
        return sum(line.startswith("GPU ") for line in listed.splitlines())

    def _run(self, command: t.Sequence[str], seconds: float, called: str) -> str:
        return self._limited(self._around or self._marks, command, seconds, called)

    def _limited(self, around: list[str], command: t.Sequence[str], seconds: float, called: str) -> str:
        self._check()
        limited = ["timeout", f"--kill-after={_GRACE_SECONDS}", f"{seconds:g}", *command]
        try:
            return run_tool([*around, *limited], seconds + 2 * _GRACE_SECONDS, called)[0]
        except MissingToolError:
            raise ToolError(f"{around[0]} is not installed") from None


def _in_words(error: ToolError, called: str, seconds: float) -> NodeError:
    too_long = _TOO_LONG in str(error)
    return NodeError(f"{called} did not finish within {seconds:.0f} s" if too_long else str(error))
