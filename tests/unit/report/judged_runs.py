# SPDX-License-Identifier: GPL-3.0-or-later
"""A judged run, as the dialects get it."""

from __future__ import annotations

import typing as t

from ansible_collections.trainops.cluster.plugins.module_utils.logs.record import METRICS
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.dialects.judged_run import JudgedRun
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.status import status_of

EVIL = "a \"quoted\" \\ back\nslash \x1b[31mred\x1b[0m <tag> & 'more'"


def metric(value: float | None, unit: str, threshold: float | None, direction: str | None, met: bool | None) -> dict:
    return {
        "unit": unit,
        "value": value,
        "value_node": "gpu1",
        "statistic": "median",
        "median": value,
        "p05": value,
        "p95": value,
        "samples": 8,
        "threshold": threshold,
        "direction": direction,
        "met": met,
    }


def bound(metric: str, kind: str, measured: float | None, value: float, met: bool | None) -> dict[str, t.Any]:
    """Return a threshold as judged, with its limits."""
    return {
        "metric": metric,
        "kind": kind,
        "value": value,
        **({"tolerance_pct": 10.0} if kind == "within" else {}),
        "unit": METRICS[metric].unit,
        "least": value if kind in ("min", "within") else None,
        "greatest": {"max": value, "within": 1.1 * value}.get(kind),
        "measured": measured,
        "node": None if measured is None else "gpu1",
        "met": met,
    }


def judged_run(verdict: str = "PASS", **changes: t.Any) -> JudgedRun:
    """Return a run of two nodes with a threshold that was met, of whose summary some keys are changed."""
    summary = {
        "run_id": "run-7",
        "framework": "megatron",
        "mode": "multi_node",
        "model": "llama3_1_8b",
        "gpu": "mi300x",
        "rehearsal": False,
        "verdict": verdict,
        "reasons": [{"code": "nodes", "message": "Both nodes took part.", "verdict": "PASS"}],
        "started_at": "2026-07-11T09:12:03+00:00",
        "ended_at": "2026-07-11T09:17:44+00:00",
        "warmup_steps": 2,
        "first_failure": None,
        "mfu": 0.41,
        "thresholds": [bound("step_time_ms", "max", 10_000.0, 12_000.0, met=True)],
        "metrics": {
            "step_time_ms": metric(10_000.0, "ms", 12_000.0, "max", met=True),
            "tokens_per_sec_per_gpu": metric(12_100.0, "tokens/s", None, None, met=None),
        },
        "nodes": [
            {
                "node": f"gpu{rank}",
                "node_rank": rank,
                "state": "exited",
                "exit_code": 0,
                "last_step": 10,
                "metrics": {"step_time_ms": {"value": 9_900.0 + 100 * rank}, "loss": {"value": 2.5}},
            }
            for rank in range(2)
        ],
        **changes,
    }
    plan = {
        "parameters": {
            "gpus_per_node": 8,
            "precision": "fp8",
            "global_batch_size": 128,
            "micro_batch_size": 2,
            "sequence_length": 8192,
            "tensor_parallelism": 1,
            "mock_data": True,
            "iterations": 10,
        },
        "config_file": "configs/llama.json",
        "nodes": [{"node": f"gpu{rank}", "node_rank": rank, "image": "rocm/megatron-lm:v25.5"} for rank in range(2)],
    }
    return JudgedRun(summary, plan, [status_of({"node": f"gpu{rank}", "image_id": "sha256:abc"}) for rank in range(2)])


FAILURE = {
    "node": "gpu1",
    "node_rank": 1,
    "class": "out_of_memory",
    "message": "HIP out of memory",
    "line": "HIP out of memory",
    "evidence": ["line before", EVIL],
    "rank": 9,
    "remedy": "Halve the micro batch size.",
    "exit_code": 1,
    "echoes": [],
}


def failed_run() -> JudgedRun:
    reasons = [
        {"code": "node_failed", "message": "gpu1 ended with exit status 1.", "verdict": "FAIL", "node": "gpu1"},
        {
            "code": "threshold_missed",
            "message": "gpu00 took 10,000 ms per step, 11.1 % above the allowed 9,000 ms.",
            "values": {"bound": bound("step_time_ms", "max", 10_000.0, 9_000.0, met=False)},
            "verdict": "FAIL",
        },
    ]
    metrics = {
        "step_time_ms": metric(10_000.0, "ms", 9_000.0, "max", met=False),
        "loss": metric(None, "1", 6.5, "max", met=False),
        "tflops_per_gpu": metric(400.0, "TFLOP/s", 300.0, "min", met=None),
    }
    thresholds = [
        bound("step_time_ms", "max", 10_000.0, 9_000.0, met=False),
        bound("loss", "max", None, 6.5, met=False),
        bound("tflops_per_gpu", "info", 400.0, 300.0, met=None),
        bound("tokens_per_sec_per_gpu", "within", 12_100.0, 12_000.0, met=True),
    ]
    return judged_run("FAIL", reasons=reasons, metrics=metrics, thresholds=thresholds, first_failure=FAILURE)


def log_only_run() -> JudgedRun:
    """Return a run with a log, but without a training config and a clock."""
    run = judged_run(
        "INCONCLUSIVE", started_at=None, ended_at=None, metrics={}, thresholds=[], mfu=None, model="", gpu=""
    )
    plan = {"parameters": {"iterations": None}, "config_file": "", "nodes": [{"node": "gpu0", "node_rank": 0}]}
    return JudgedRun(run.summary, plan, [status_of({"node": "gpu0"})])
