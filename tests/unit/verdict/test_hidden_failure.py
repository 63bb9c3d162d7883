from __future__ import annotations

import math
import typing as t
from pathlib import Path

import pytest
from training_logs import (
    ALL,
    GPU_HANG,
    LOST_PEER,
    NCCL_ERROR,
    OUT_OF_MEMORY,
    SILENT,
    WATCHDOG,
    Node,
    codes,
    judged,
    lines,
    two,
)

from ansible_collections.trainops.cluster.plugins.module_utils.logs.ending import failures_at_end


def test_a_crash_that_a_script_hides_is_the_first_failure(tmp_path):
    log = lines(range(1, 6)) + OUT_OF_MEMORY + "throughput per GPU: nan\n"
    summary = judged([Node("gpu00", NCCL_ERROR), Node("gpu01", log)], tmp_path)
    assert summary["verdict"] == "FAIL"
    assert (summary["first_failure"]["node"], summary["first_failure"]["class"]) == ("gpu01", "out_of_memory")


def test_a_crash_that_a_script_hides_on_a_node_without_steps_is_the_first_failure(tmp_path):
    nodes = [Node("gpu00", SILENT + GPU_HANG), Node("gpu01", lines(range(1, 6)) + WATCHDOG)]
    first = judged(nodes, tmp_path)["first_failure"]
    assert (first["node"], first["class"]) == ("gpu00", "gpu_hang")
    assert [echo["node"] for echo in first["echoes"]] == ["gpu01"]


def test_a_crash_before_the_first_step_that_a_script_hides_is_a_failure_of_the_training(tmp_path):
    summary = judged([Node("gpu00", SILENT + OUT_OF_MEMORY), Node("gpu01", SILENT)], tmp_path)
    assert summary["verdict"] == "FAIL"
    assert ("failure_in_log", "gpu00") in codes(summary)


def at_end(text: str, tmp_path: Path) -> dict[str, t.Any]:
    """Return what the board holds of a node whose log ends with a text behind its last step."""
    log = tmp_path / "at_end.log"
    log.write_text(ALL + text, encoding="utf-8")
    return {"failures_at_end": failures_at_end(str(log), "megatron")}


def test_a_failure_behind_the_last_step_is_no_pass(tmp_path):
    summary = judged(two(ALL + OUT_OF_MEMORY, told=at_end(OUT_OF_MEMORY, tmp_path)), tmp_path)
    assert summary["verdict"] == "INCONCLUSIVE"
    assert codes(summary) == [("failure_at_end", "gpu01")]
    assert OUT_OF_MEMORY.splitlines()[-1] in summary["reasons"][0]["message"]
    first = summary["first_failure"]
    assert (first["node"], first["class"]) == ("gpu01", "out_of_memory")


def test_a_failure_after_which_no_number_of_steps_is_missing_is_named(tmp_path):
    log = lines(range(1, 6)).replace("/      10 |", "/       5 |") + OUT_OF_MEMORY
    summary = judged([Node("gpu00", log, told={**at_end(OUT_OF_MEMORY, tmp_path)})], tmp_path, iterations=None)
    assert summary["verdict"] != "PASS"
    assert summary["first_failure"]["class"] == "out_of_memory"


def test_a_value_that_is_nan_is_the_first_failure(tmp_path):
    log = lines(range(1, 8)) + lines(range(8, 11), loss=math.nan, grad_norm=math.nan)
    first = judged(two(log), tmp_path)["first_failure"]
    assert (first["node"], first["class"]) == ("gpu01", "nan")
    assert "8" in first["message"]
    assert "learning rate" in first["remedy"]


@pytest.mark.parametrize("text", [WATCHDOG, LOST_PEER, NCCL_ERROR])
def test_what_ranks_print_when_others_have_ended_before_them_is_no_failure(text, tmp_path):
    assert judged(two(ALL + text, told=at_end(text, tmp_path)), tmp_path)["verdict"] == "PASS"
