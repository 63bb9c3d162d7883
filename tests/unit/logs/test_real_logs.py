"""Real logs, if this machine has some: TRAINOPS_REAL_LOGS is their folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs import parts
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.known import GRAMMARS
from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log

FOLDER = os.environ.get("TRAINOPS_REAL_LOGS")


def told_in(log: str, framework: str) -> str:
    answer = read_log(log, framework, final=True)
    return repr((list(answer["rows"]), answer["failures"], answer["summary"]))


@pytest.mark.skipif(
    not FOLDER, reason="no folder of real logs (*.log) is named; run `make test TRAINOPS_REAL_LOGS=DIR`"
)
def test_a_real_log_is_read_in_small_parts_as_it_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = [str(log) for log in Path(FOLDER or "").rglob("*.log")]
    assert logs
    at_once = {(log, framework): told_in(log, framework) for log in logs for framework in GRAMMARS}
    monkeypatch.setattr(parts, "_CHUNK_BYTES", 700)
    assert at_once == {(log, framework): told_in(log, framework) for log, framework in at_once}
