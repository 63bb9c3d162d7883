"""Signals while a run is followed; the end-to-end tests try their effect on a real run."""

from __future__ import annotations

import signal

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.interrupt import InterruptHandler


def test_who_follows_a_run_under_nohup_goes_on_when_the_terminal_goes_away(tmp_path):
    Board(tmp_path / "long").write_plan({"run_id": "long", "nodes": []})
    said = []
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    handler = InterruptHandler(tmp_path / "long", lambda *_: "a command", said.append)
    try:
        handler.start()
        signal.raise_signal(signal.SIGHUP)
        assert (said, signal.getsignal(signal.SIGHUP)) == ([], signal.SIG_IGN)
        assert signal.getsignal(signal.SIGTERM) == handler._handle
    finally:
        handler.end()
        signal.signal(signal.SIGHUP, before)
