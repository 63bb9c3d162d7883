# SPDX-License-Identifier: GPL-3.0-or-later
"""What those who follow a run's nodes share, each of whom is a thread."""

from __future__ import annotations

import math
import threading
import time


class News:
    """Shared by the followers of a multi-node run; each node of a single-node run has its own.

    ``failed`` as soon as a node has failed or was stopped, ``hangs`` once no log has grown for too long, ``grown`` when
    a log grew last (by the monotonic clock), and ``advances``, how often a node was seen to go on to another step.
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

    def note(
        self, failed: bool = False, hangs: bool = False, grown: float | None = None, advanced: bool = False
    ) -> None:
        """Report what was seen of a node."""
        with self._lock:
            self.failed = self.failed or failed
            self.hangs = self.hangs or hangs
            self.grown = max(self.grown, grown or self.grown)
            self.advances += advanced

    def note_pace(self, node: str, limit: float, pausing: bool) -> None:
        """Report how long a node's log may be silent by its own steps, and whether its trainer has reason to pause."""
        with self._lock:
            self._limits[node], self._pausing[node] = limit, pausing
            self._shortest = min(self._shortest, limit)

    def is_silent(self, now: float) -> bool:
        """Return whether all logs are silent for too long; nodes are looked at one by one only once that may be."""
        silence = now - self.grown
        return silence > self._shortest and silence > self.longest_silence()

    def longest_silence(self) -> float:
        """Return for how many seconds all logs may be silent."""
        with self._lock:
            return (max if any(self._pausing.values()) else min)(self._limits.values(), default=math.inf)
