# SPDX-License-Identifier: GPL-3.0-or-later
"""What Ctrl-C, SIGTERM and SIGHUP do while a run is followed: the training never ends silently."""

from __future__ import annotations

import os
import signal
import typing as t
from collections.abc import Callable
from pathlib import Path

from .board import Board

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptHandler:
    """Handles the signals of this process from `start` to `end`.

    A run whose plan says ``on_interrupt: stop`` is stopped by the first Ctrl-C or SIGTERM, and judged. Otherwise, and
    on the second one, this process ends as without this handler: the training goes on, and ``tell`` is given the
    commands to attach to it and to stop it. A signal that this process ignores, like SIGHUP under nohup, stays ignored.
    """

    def __init__(
        self, run_dir: str | Path, command: Callable[[str, str | Path], str], tell: Callable[[str], t.Any]
    ) -> None:
        """Handle signals for the run in a folder; ``command`` returns how to play a playbook for it, by its name."""
        self._board = Board(run_dir)
        self._command = command
        self._tell = tell
        self._before: dict[int, t.Any] = {}

    def start(self) -> None:
        """Begin to handle signals; a folder without a run has none to lose."""
        try:
            self._plan = self._board.plan()
        except ValueError:
            return
        heard = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._handle) for number in heard}

    def end(self) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _handle(self, number: int, frame: t.Any) -> None:
        run_id = self._plan["run_id"]
        if number != signal.SIGHUP and self._plan.get("on_interrupt") == "stop" and not self._board.stop_is_requested():
            try:
                self._board.request_stop()
            except OSError as error:
                self._tell(f"Run {run_id} cannot be asked to stop: {error.filename}: {error.strerror}.")
            else:
                self._tell(f"Stopping run {run_id} on every node. Press Ctrl-C again to leave it running.")
                return
        handler = self._before[number]
        self.end()
        attach, stop = (self._command(name, self._board.run_dir) for name in ("attach", "stop"))
        self._tell(f"Run {run_id} continues in the background.\n  Follow it again: {attach}\n  Stop it: {stop}")
        if callable(handler):
            handler(number, frame)
        else:
            os.kill(os.getpid(), number)
