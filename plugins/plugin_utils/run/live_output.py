# SPDX-License-Identifier: GPL-3.0-or-later
"""Standard output that people see as it is written: Ansible flushes a pipe or a file only when it ends."""

from __future__ import annotations

import contextlib
import sys
import threading

_INTERVAL = 0.5


def flush_output() -> None:
    """Flush standard output; a reader that is gone is no reason to end a run."""
    # ValueError: it is closed.
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()


class LiveOutput:
    """Flushes standard output from `start` to `end`, twice a second, whoever writes to it.

    That is also Ansible itself, and the processes of its tasks, whose messages Ansible writes. Buffering by lines would
    let a message fail once the reader is gone, upon which Ansible waits for its task forever.
    """

    def __init__(self) -> None:
        """Begin without a thread."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._flush, name="live output", daemon=True)

    def start(self) -> None:
        """Begin to flush."""
        self._thread.start()

    def end(self) -> None:
        """End; Ansible handles later output. Before `start` there is nothing to end."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _flush(self) -> None:
        while not self._ended.wait(_INTERVAL):
            flush_output()
