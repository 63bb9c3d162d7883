"""Filters that read a log on the controller, through Ansible's own templating."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from filter_runs import shown, value
from module_runs import call_module

LOGS = Path(__file__).resolve().parents[2] / "data/logs"
LOG = LOGS / "megatron_rocm_restarted.log"


@pytest.mark.parametrize("given", ["'{}'", "lookup('ansible.builtin.file', '{}')"], ids=["path", "text"])
def test_a_log_gives_the_records_of_the_module(tmp_path: Path, given: str) -> None:
    records = value(tmp_path, f"{given.format(LOG)} | trainops.cluster.training_metrics")
    assert records == call_module("training_metrics", path=str(LOG))["records"]


@pytest.mark.parametrize(
    ("framework", "text", "expected"),
    [("maxtext", None, "megatron"), ("megatron", "one\ntwo\n", "no finished step")],
    ids=["wrong framework", "no step"],
)
def test_a_log_without_a_step_gives_a_warning_in_filter_and_module(
    tmp_path: Path, framework: str, text: str | None, expected: str
) -> None:
    log = LOG
    if text is not None:
        log = tmp_path / "empty.log"
        log.write_text(text)
    found, said, status = shown(tmp_path, f"'{log}' | trainops.cluster.training_metrics('{framework}')")
    assert (found, status) == ("[]", 0)
    (warning,) = call_module("training_metrics", path=str(log), framework=framework)["warnings"]
    assert expected in str(warning)
    assert "WARNING" in said
    assert expected in said


def test_records_become_a_frame_with_a_row_per_step(tmp_path: Path) -> None:
    frame = f"('{LOG}' | trainops.cluster.training_metrics | trainops.cluster.to_dataframe)"
    rows = list(csv.DictReader(io.StringIO(value(tmp_path, f"{frame}.to_csv()"))))
    assert [(row["attempt"], row["step"]) for row in rows] == [
        ("1", "1"),
        ("1", "2"),
        ("2", "1"),
        ("2", "2"),
        ("2", "3"),
    ]
    assert float(rows[0]["step_time_ms"]) == 20000


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("'/no/such.log' | trainops.cluster.training_metrics", "there is no log /no/such.log"),
        (f"'{LOG}' | trainops.cluster.training_metrics('torch')", "torch"),
        ("[{'a': 1}] | trainops.cluster.to_dataframe | string", "records must have attempt, step, metric and value"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, expression: str, expected: str) -> None:
    _text, said, status = shown(tmp_path, expression)
    assert status != 0
    assert expected in said
    assert "Traceback" not in said
