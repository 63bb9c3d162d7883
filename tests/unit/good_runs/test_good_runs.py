# SPDX-License-Identifier: GPL-3.0-or-later
"""No good run is refused: recorded runs with real exit noise, each benign line in them, and all forms of logs.

The lines were collected without checking which of them the verdict knows.
"""

from __future__ import annotations

import pytest
from judging import against, judged, told
from variants_of_runs import ALONE, VARIANTS, Variant


@pytest.mark.parametrize("variant", [*VARIANTS, *(pytest.param(one, marks=pytest.mark.slow) for one in ALONE)], ids=str)
def test_a_good_run_passes(variant: Variant) -> None:
    summary = judged(variant.make(), told(variant.base.nodes, variant.base.expected))
    assert summary["verdict"] == "PASS", (against(summary), [reason.get("message") for reason in summary["reasons"]])


@pytest.mark.parametrize(
    "text",
    [
        'Traceback (most recent call last):\n  File "/workspace/pretrain_gpt.py", line 300, in <module>\n'
        "    pretrain(\nPermissionError: [Errno 13] Permission denied: '/checkpoints/iter_0000012'",
        "slurmstepd: error: *** JOB 4711 ON node1 CANCELLED AT 2026-01-02T03:04:05 ***",
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 77 got signal: 15",
        "train.sh: line 17: 4242 Killed python3 pretrain_gpt.py --log power-smi",
    ],
    ids=["the last checkpoint", "cancelled", "a signal", "the trainer is killed"],
)
def test_a_run_that_fails_after_its_last_step_does_not_pass(text: str) -> None:
    base = VARIANTS[0].base
    logs = {**base.logs, base.steps: f"{str(base.logs[base.steps]).rstrip()}\n{text}\n"}
    assert judged(logs, told(base.nodes, base.expected))["verdict"] != "PASS"
