# SPDX-License-Identifier: GPL-3.0-or-later
"""What a log says of its model, against the plan and against its steps."""

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
        ({"billions_of_parameters": [0.35]}, {}, "0.35"),
        ({"billions_of_parameters": [70.55]}, {}, "70.55"),
        ({"billions_of_parameters": [0.35]}, {"rehearsal": True}, None),
        ({"parameters_of_rank": [8030261248.0]}, {}, None),
        ({"parameters_of_rank": [354871296.0]}, {}, "0.3549"),
        ({"parameters_of_rank": [354871296.0]}, {"parameters": {"iterations": 10, "tensor_parallelism": 8}}, None),
    ],
)
def test_parameters_are_those_of_the_planned_model(settings, changes, found, tmp_path: Path) -> None:
    summary = of_model(settings, tmp_path, **changes)
    assert [reason["message"] for reason in summary["reasons"] if reason["code"] == "other_workload"] == (
        [f"The log of gpu00 is from another workload: its model has {found} billion parameters, the planned one 8.03."]
        if found
        else []
    )
    if not changes:
        assert summary["verdict"] == ("FAIL" if found else "PASS")


@pytest.mark.parametrize(
    ("said", "found"), [([40.0], None), ([41.5], None), ([80.0], 40.0), ([0.01], None), ([40.0, 80.0], None)]
)
def test_tflops_of_the_steps_are_those_that_a_step_is_said_to_have(said, found, tmp_path: Path) -> None:
    nodes = [Node("gpu00", SILENT), Node("gpu01", ALL, told={"settings": {"tflops_of_step": said}})]
    summary = judged(nodes, tmp_path, **LOGS)
    reasons = [reason for reason in summary["reasons"] if reason["code"] == "rates_disagree"]
    assert [reason["evidence"]["found"] for reason in reasons] == ([pytest.approx(found)] if found else [])
    assert summary["verdict"] == ("INCONCLUSIVE" if found else "PASS")
