# SPDX-License-Identifier: GPL-3.0-or-later
"""What the followers of a run's nodes share; each is a thread."""

from __future__ import annotations

import math
import threading
import time


class News:
    """Shared by the followers of a multi-node run; each node of a single-node run has its own.

    ``failed``: a node has failed or was stopped. ``hangs``: no log has grown for too long. ``grown``: when a log last
    grew, by the monotonic clock. ``advances``: how often a node was seen to advance to another step.
    """

    def __init__(self) -> None:
        """Begin with nothing that failed."""
        self._lock = threading.Lock()
        self.failed = self.hangs = False
        self.grown = time.monotonic()
        self.advances = 0
        self._limits: dict[str, float] = {}
        self._shortest = math.inf
        self._pausing: dict[str, bool] = {}
        self._known: dict[str, float] = {}
        self._silent: set[str] = set()

    def note_silence(self, node: str, *, silent: bool) -> None:
        """Report that a node does not answer, or that it does again."""
        with self._lock:
            (self._silent.add if silent else self._silent.discard)(node)

    def others_are_silent(self, node: str) -> bool:
        """Return whether any node but this one does not answer."""
        return bool(self._silent) and bool(self._silent - {node})

    def note(
        self, failed: bool = False, hangs: bool = False, grown: float | None = None, advanced: bool = False
    ) -> None:
        """Report new observations on a node."""
        with self._lock:
            self.failed = self.failed or failed
            self.hangs = self.hangs or hangs
            self.grown = max(self.grown, grown or self.grown)
            self.advances += advanced

    def note_pace(self, node: str, limit: float, pausing: bool, known: float) -> None:
        """Report how long a node's log may be silent by its own steps, and whether its trainer has reason to pause.

        Whether that log grew is known up to the time ``known``; infinite once the training has ended.
        """
        with self._lock:
            self._limits[node], self._pausing[node], self._known[node] = limit, pausing, known
            self._shortest = min(self._shortest, limit)

    def is_silent(self, now: float) -> bool:
        """Return whether all logs have been silent for too long; nodes are checked one by one only if that is possible.

        Only an answer shows silence: without one a node may be away, or this process was suspended.
        """
        if now - self.grown <= self._shortest:
            return False
        with self._lock:
            silence = min(now, *self._known.values()) - self.grown
        return silence > self.longest_silence()

    def longest_silence(self) -> float:
        """Return for how many seconds all logs may be silent."""
        with self._lock:
            return (max if any(self._pausing.values()) else min)(self._limits.values(), default=math.inf)
