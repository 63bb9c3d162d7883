from __future__ import annotations

import math
from pathlib import Path

import pytest
import yaml
from module_runs import call_module, run_module

from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.known import GRAMMARS
from ansible_collections.trainops.cluster.plugins.module_utils.logs.rows import StepRows
from ansible_collections.trainops.cluster.plugins.modules import training_metrics

ROOT = Path(__file__).resolve().parents[3]
OF_MEGATRON = {
    *("step_time_ms", "tflops_per_gpu", "tokens_per_sec_per_gpu", "memory_fraction", "loss"),
    *("grad_norm", "learning_rate", "skipped_iterations", "nan_iterations"),
}
LOG = ROOT / "tests" / "data" / "logs" / "megatron_rocm_restarted.log"


def test_the_module_reads_a_log_in_check_mode_too(tmp_path: Path) -> None:
    answer = run_module(tmp_path, "training_metrics", path=str(LOG), tokens_per_step_per_gpu=65536)
    checked = call_module("training_metrics", check=True, path=str(LOG), tokens_per_step_per_gpu=65536)
    assert checked == answer
    assert answer["changed"] is False
    assert (answer["last_step"], answer["steps_total"]) == (3, 4)
    assert answer["records"][:2] == [
        {"attempt": 1, "step": 1, "metric": "step_time_ms", "value": 20000.0, "unit": "ms"},
        {"attempt": 1, "step": 1, "metric": "memory_fraction", "value": 0.7, "unit": "1"},
    ]
    assert {(record["attempt"], record["step"]) for record in answer["records"]} == {
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
        (2, 3),
    }
    last = {record["metric"]: record["value"] for record in answer["records"] if record["step"] == 3}
    assert set(last) == OF_MEGATRON
    assert (last["loss"], last["grad_norm"]) == ("nan", "nan")
    assert math.isnan(float(last["loss"]))
    assert last["tokens_per_sec_per_gpu"] == pytest.approx(65536 / 10.25)
    assert [(failure["class"], failure["rank"]) for failure in answer["failures"]] == [("out_of_memory", 9)]
    assert answer["left_out"] == []
    assert answer["summary"] == {"tflops_per_gpu": "nan", "step_time_ms": "nan", "memory_fraction": "nan"}


def test_columns_hold_what_the_records_say() -> None:
    records = call_module("training_metrics", path=str(LOG))["records"]
    answer = call_module("training_metrics", path=str(LOG), layout="columns")
    assert "records" not in answer
    assert [
        (block["attempt"], step, metric, column[place])
        for block in answer["columns"]
        for place, step in enumerate(block["steps"])
        for metric, column in block["metrics"].items()
    ] == [(row["attempt"], row["step"], row["metric"], row["value"]) for row in records]


def test_the_module_goes_on_where_it_ended(tmp_path: Path) -> None:
    log = tmp_path / "training.log"
    lines = LOG.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:5]) + b" iteration 3/4 | half a li")
    first = call_module("training_metrics", path=str(log), final=False)
    log.write_bytes(b"".join(lines))
    second = call_module("training_metrics", path=str(log), final=False, cursor=first["cursor"])
    assert first["last_step"] == 2
    assert {record["attempt"] for record in second["records"]} == {2}
    assert second["last_step"] == 3


def test_the_module_reads_the_other_frameworks(tmp_path: Path) -> None:
    log = tmp_path / "training.log"
    log.write_text(
        "Num_devices: 16, shape (16,)\nConfig param steps: 9\ncompleted step: 0, seconds: 44.923, loss: 12.0\n"
    )
    answer = call_module("training_metrics", path=str(log), framework="maxtext")
    assert (answer["last_step"], answer["steps_total"]) == (0, 9)
    assert (answer["world_size"], answer["transports"]) == (16, [])
    assert answer["left_out"] == [{"attempt": 1, "step": 0, "reason": "MaxText compiles in the first step"}]
    log.write_text("Epoch 0:   3%|#| 3/91 [03:00<88:00, 60.00s/it, lr=0.5, throughput=0.5]\n")
    answer = call_module("training_metrics", path=str(log), framework="nxdt", tokens_per_sequence_per_gpu=128)
    assert {record["metric"]: record["value"] for record in answer["records"]} == {
        "step_time_ms": 60000.0,
        "learning_rate": 0.5,
        "tokens_per_sec_per_gpu": 64.0,
    }


def test_what_the_module_cannot_read_is_said(tmp_path: Path) -> None:
    missing = tmp_path / "missing.log"
    told = call_module("training_metrics", path=str(missing))["msg"]
    assert told == f"path is {missing}, but there is no such file on this host"
    told = call_module("training_metrics", path=str(tmp_path))["msg"]
    assert "is not a file, but must be a training log" in told
    told = call_module("training_metrics", path=str(LOG), cursor={"offset": 3})["msg"]
    assert "cursor has the keys ['offset']" in told


def test_documentation_tells_of_every_framework_and_result() -> None:
    options = yaml.safe_load(training_metrics.DOCUMENTATION)["options"]
    assert options["framework"]["choices"] == sorted(GRAMMARS)
    news = {"rows": StepRows(), "failures": [], "summary": {}, "transports": [], "world_size": None}
    news["cursor"] = {"step": None, "steps_total": None}
    returned = {name for layout in ("records", "columns") for name in training_metrics.results_of(news, layout)}
    assert set(yaml.safe_load(training_metrics.RETURN)) == returned - {"changed"}
