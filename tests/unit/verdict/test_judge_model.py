# SPDX-License-Identifier: GPL-3.0-or-later
"""A log's values of its model, compared with the plan and with its steps."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from training_logs import ALL, LOGS, SILENT, WORKLOAD, Node, judged


def of_model(settings: dict[str, list[float]], folder: Path, **changes: t.Any) -> dict[str, t.Any]:
    nodes = [Node("gpu00", SILENT, told={"settings": settings}), Node("gpu01", ALL)]
    return judged(nodes, folder, workload=WORKLOAD | {"parameters": 8_030_000_000}, **changes)


@pytest.mark.parametrize(
    ("settings", "changes", "found"),
    [
        ({"billions_of_parameters": [8.03]}, {}, None),
        ({"billions_of_parameters": [6.98]}, {}, None),
        ({"billions_of_parameters": [0.35]}, {}, "350 million"),
        ({"billions_of_parameters": [70.55]}, {}, "70.5 billion"),
        ({"billions_of_parameters": [0.35]}, {"rehearsal": True}, None),
        ({"parameters_of_rank": [8030261248.0]}, {}, None),
        ({"parameters_of_rank": [354871296.0]}, {}, "355 million"),
        ({"parameters_of_rank": [164224.0]}, {}, "164,224"),
        ({"parameters_of_rank": [354871296.0]}, {"parameters": {"iterations": 10, "tensor_parallelism": 8}}, None),
    ],
)
def test_parameters_are_those_of_the_planned_model(settings, changes, found, tmp_path: Path) -> None:
    summary = of_model(settings, tmp_path, **changes)
    messages = [reason["message"] for reason in summary["reasons"] if reason["code"] == "other_workload"]
    assert len(messages) == bool(found)
    assert all(f" {found} parameters" in message and "8.03 billion" in message for message in messages)
    if not changes:
        assert summary["verdict"] == ("FAIL" if found else "PASS")


@pytest.mark.parametrize(
    ("said", "found"), [([40.0], None), ([41.5], None), ([80.0], 40.0), ([0.01], None), ([40.0, 80.0], None)]
)
def test_tflops_of_the_steps_are_those_that_a_step_is_said_to_have(said, found, tmp_path: Path) -> None:
    nodes = [Node("gpu00", SILENT), Node("gpu01", ALL, told={"settings": {"tflops_of_step": said}})]
    summary = judged(nodes, tmp_path, **LOGS)
    reasons = [reason for reason in summary["reasons"] if reason["code"] == "rates_disagree"]
    assert [reason["values"]["found"] for reason in reasons] == ([pytest.approx(found)] if found else [])
    assert summary["verdict"] == ("INCONCLUSIVE" if found else "PASS")


def test_a_training_that_is_planned_for_cpus_trains_another_model_and_has_no_mfu(tmp_path: Path) -> None:
    of_cpus = {"hardware": {"os": None, "kernel": None, "cpu": None, "accelerators": None, "nics": []}}
    told = of_cpus | {"settings": {"parameters_of_rank": [164224.0]}}
    nodes = [Node("gpu00", SILENT, told=told), Node("gpu01", ALL, told=of_cpus)]
    of_plan = {"workload": WORKLOAD | {"parameters": 8_030_000_000}}
    # Nodes without an accelerator excuse no config for one.
    assert judged(nodes, tmp_path, **of_plan)["verdict"] == "FAIL"
    summary = judged(nodes, tmp_path, gpu="cpu", **of_plan)
    assert (summary["verdict"], summary["mfu"]) == ("PASS", None)
    assert [note["node"] for note in summary["notes"] if note["code"] == "model_on_cpus"] == ["gpu00"]
