# SPDX-License-Identifier: GPL-3.0-or-later
"""The arguments that a log prints in words match the plan, and its times of training fit its steps."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from training_logs import ALL, LOGS, OVER, SILENT, WORKLOAD, Node, codes, judged, line

PARAMETERS = {"iterations": 10, "recompute": False, "tokenizer": "org/Meta-Llama-3-8B"}


def printed(**arguments: str) -> str:
    return "".join(f"  {name} {'.' * (48 - len(name))} {value}\n" for name, value in arguments.items())


def of(head: str, folder: Path, precision: str = "bf16", **changes: t.Any) -> dict[str, t.Any]:
    parameters = PARAMETERS | changes.pop("parameters", {})
    nodes = [Node("gpu00", head + SILENT), Node("gpu01", ALL)]
    workload = WORKLOAD | {"precision": precision}
    return judged(nodes, folder, parameters=parameters, workload=workload, expected=[], **changes)


GOOD = [
    ({"fp8": "None", "bf16": "True", "fp16": "False"}, "bf16", {}),
    ({"fp8": "hybrid", "bf16": "True", "fp16": "False"}, "fp8", {}),
    ({"fp8": "False", "bf16": "False", "fp16": "True"}, "fp16", {}),
    ({"recompute_granularity": "full"}, "bf16", {"recompute": True}),
    ({"recompute_granularity": "selective"}, "bf16", {}),
    ({"tokenizer_model": "/data/models/Meta-Llama-3-8B"}, "bf16", {}),
    ({"tokenizer_model": "None"}, "bf16", {}),
    ({"fp8": "e4m3"}, "mxfp8-of-next-year", {}),
]
OTHER = [
    ({"fp8": "hybrid", "bf16": "True"}, "bf16", {}, "fp8"),
    ({"fp8": "None", "bf16": "True", "fp16": "False"}, "fp8", {}, "bf16"),
    ({"fp8": "None", "bf16": "False", "fp16": "False"}, "bf16", {}, "fp32"),
    ({"recompute_granularity": "full"}, "bf16", {}, "on"),
    ({"recompute_granularity": "None"}, "bf16", {"recompute": True}, "off"),
    ({"tokenizer_model": "org/Llama-2-7b-hf"}, "bf16", {}, "Llama-2-7b-hf"),
]


@pytest.mark.parametrize(("arguments", "precision", "parameters"), GOOD)
def test_what_the_plan_has_agrees(
    arguments: dict[str, str], precision: str, parameters: dict[str, t.Any], tmp_path: Path
) -> None:
    summary = of(printed(**arguments), tmp_path, precision, parameters=parameters)
    assert summary["verdict"] == "PASS", summary["reasons"]


@pytest.mark.parametrize("logs", [{}, LOGS], ids=["followed", "logs"])
@pytest.mark.parametrize(("arguments", "precision", "parameters", "found"), OTHER)
def test_another_precision_recomputation_or_tokenizer_fails(
    arguments: dict[str, str],
    precision: str,
    parameters: dict[str, t.Any],
    found: str,
    logs: dict[str, t.Any],
    tmp_path: Path,
) -> None:
    summary = of(printed(**arguments), tmp_path, precision, parameters=parameters, **logs)
    assert (summary["verdict"], codes(summary)) == ("FAIL", [("other_workload", "gpu00")])
    assert found in summary["reasons"][0]["message"]


def test_a_log_with_two_precisions_holds_two_runs(tmp_path: Path) -> None:
    summary = of(printed(fp8="None") + printed(fp8="hybrid"), tmp_path, **LOGS)
    assert ("settings_differ", "gpu00") in codes(summary)


MAXTEXT_LINES = "".join(
    f"completed step: {step}, seconds: 1.000, TFLOP/s/device: 100.0, Tokens/s/device: 4096.0, loss: {9 - step / 9}\n"
    for step in range(12)
)


@pytest.mark.parametrize(
    ("config", "precision", "verdict"),
    [
        ("dtype: bfloat16|quantization: ", "bf16", "PASS"),
        ("dtype: bfloat16|quantization: nanoo_fp8", "fp8", "PASS"),
        ("dtype: bfloat16|quantization: fp8", "bf16", "FAIL"),
        ("dtype: bfloat16|quantization: ", "fp8", "FAIL"),
        ("dtype: float32|quantization: ", "bf16", "FAIL"),
    ],
)
def test_a_precision_is_read_from_maxtext_too(config: str, precision: str, verdict: str, tmp_path: Path) -> None:
    head = "".join(f"Config param {one}\n" for one in config.split("|"))
    node = Node("gpu00", head + MAXTEXT_LINES)
    changes = {
        "framework": "maxtext",
        "log_grammar": "maxtext",
        "mode": "single_node",
        "first_step": 0,
        "expected": [],
    }
    workload = WORKLOAD | {"precision": precision, "gpus": 1, "tokens_per_step": 4096}
    summary = judged([node], tmp_path, parameters={"iterations": 12}, workload=workload, **changes)
    assert summary["verdict"] == verdict, summary["reasons"]


def test_the_ranks_of_a_job_on_one_node_are_the_planned_ones(tmp_path: Path) -> None:
    log = "using world size: 1, data-parallel size: 1, tensor-model-parallel size: 1\n" + ALL + OVER
    summary = judged([Node("gpu00", log)], tmp_path, mode="single_node", workload=WORKLOAD, expected=[])
    assert (summary["verdict"], codes(summary)) == ("FAIL", [("other_workload", "gpu00")])


@pytest.mark.parametrize(("date", "verdict"), [("2026-01-02", "PASS"), ("2024-01-02", "INCONCLUSIVE")])
def test_what_rank_0_is_dated_is_the_day_of_the_steps(date: str, verdict: str, tmp_path: Path) -> None:
    steps = "".join(f" [2026-01-02 03:04:{step:02d}]{line(step, ms=1000.0)}" for step in range(1, 11))
    nodes = [Node("gpu00", SILENT.replace("2026-01-02", date)), Node("gpu01", steps)]
    summary = judged(nodes, tmp_path, expected=[], workload=None, **LOGS)
    against = [code for code in codes(summary) if code == ("other_time", "gpu00")]
    assert bool(against) is (verdict != "PASS"), summary["reasons"]


@pytest.mark.parametrize(("hours", "fits"), [(0, True), (13, True), (24, False)])
def test_no_two_nodes_are_a_day_apart(hours: int, fits: bool, tmp_path: Path) -> None:
    def stamped(day: int, hour: int) -> str:
        return "".join(
            f" [2026-01-{day:02d} {hour:02d}:04:{step:02d}]{line(step, ms=1000.0 + day)}" for step in range(1, 11)
        )

    logs = stamped(2, 3), stamped(2 + (3 + hours) // 24, (3 + hours) % 24)
    nodes = [Node("gpu00", logs[0], seconds=None), Node("gpu01", logs[1], seconds=None)]
    summary = judged(nodes, tmp_path, framework="megatron", expected=[], workload=None, **LOGS)
    assert (("other_time", "gpu01") in codes(summary)) is not fits, summary["reasons"]
