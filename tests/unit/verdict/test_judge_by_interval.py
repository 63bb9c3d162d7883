# SPDX-License-Identifier: GPL-3.0-or-later
"""A trainer that prints every tenth step: the proof that it trained to its last one, which has no line."""

from __future__ import annotations

from pathlib import Path

import pytest
from training_logs import Node, codes, judged

STEPS = 101
OVER = ("Training completed", "Process group destroyed")


def said(text: str, second: int) -> str:
    return f"[rank0]:[titan] 2026-11-26 10:{second // 60:02}:{second % 60:02},000 - root - INFO - {text}\n"


def log_of(last: int, *closing: str) -> str:
    """Return the log of a rank whose last line of a step is ``last``, in TorchTitan's format."""
    lines = [
        said(
            f"step: {step:2}  loss: {9 - step / 30:8.5f}  grad_norm: {1.5:7.4f}  memory: 40.00GiB(50.00%)  "
            "tps: 4,096  tflops: 310.00  mfu: 31.00%",
            4 * step,
        )
        for step in (1, *range(10, STEPS, 10))
        if step <= last
    ]
    start = [said(f"Trainer is initialized with 4096 tokens per DP rank, total steps {STEPS} (warmup 2)", 1)]
    return "".join([*start, said("Training starts at step 1", 2), *lines, *(said(text, 4 * STEPS) for text in closing)])


@pytest.mark.parametrize(
    ("log", "passes"),
    [
        (log_of(100, *OVER), True),
        (log_of(100, OVER[1]), True),
        (log_of(100), False),
        (log_of(90, *OVER), False),
        (log_of(100, "Ran out of data; last step was canceled.", *OVER), False),
    ],
    ids=["over", "over by its process group", "no end", "a line is missing", "out of data"],
)
def test_the_trainers_own_end_proves_the_last_step(log: str, passes: bool, tmp_path: Path) -> None:
    nodes = [Node("gpu00", log), Node("gpu01", log)]
    framework = {"framework": "torchtitan", "log_grammar": "torchtitan"}
    summary = judged(nodes, tmp_path, parameters={"iterations": STEPS}, expected=[], **framework)
    assert (summary["verdict"] == "PASS") is passes, codes(summary)
