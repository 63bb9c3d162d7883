"""The answers of a Slurm job's nodes before it trains: they are judged, whatever they are."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.slurm.desk import STOP, WORD_NAME
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.phases import judged
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.script import SCRIPT_NAME


@pytest.mark.parametrize("told", [None, 7, "no", ["x"], {}, {"node": 7}, {"message": ["x"]}, {"node": {"clock": []}}])
def test_an_answer_of_any_shape_is_red(told: Any, tmp_path) -> None:
    for name in (WORD_NAME, SCRIPT_NAME):
        (tmp_path / name).write_text("")
    plan: Any = {"slurm": {"preflight": True}, "mode": "multi_node", "nodes": [{"node": "n1"}, {"node": "n2"}]}
    noted: dict[str, Any] = {}
    board: Any = SimpleNamespace(update=lambda name, **changes: noted.update({name: changes}))
    journal: Any = SimpleNamespace(next=lambda _place, _kind: json.loads(json.dumps(told)))
    job: Any = SimpleNamespace(run_dir=tmp_path)
    _table, red = judged(job, journal, plan, board) or ({}, [])
    assert red == list(noted) == ["n1", "n2"]
    assert (tmp_path / WORD_NAME).read_text() == STOP
