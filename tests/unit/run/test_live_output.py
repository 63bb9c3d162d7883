"""Standard output that is a pipe: its reader gets everything, and a reader that is gone stops nothing."""

from __future__ import annotations

import os
import sys

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.live_output import LiveOutput, flush_output


def test_what_anybody_writes_arrives_while_output_is_live(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader) as read, os.fdopen(writer, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        live = LiveOutput()
        live.start()
        output.write("TASK [Start all ranks]\n")
        assert read.readline() == "TASK [Start all ranks]\n"
        live.end()


def test_a_reader_that_is_gone_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    output = os.fdopen(writer, "w")
    monkeypatch.setattr(sys, "stdout", output)
    output.write("step 3/8\n")
    flush_output()
    with pytest.raises(BrokenPipeError):
        output.close()
    flush_output()
