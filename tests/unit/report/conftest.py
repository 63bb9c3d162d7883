# SPDX-License-Identifier: GPL-3.0-or-later
"""A run as the report gets it: steps, summary and plan."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pytest
from browser import Chromium
from not_run import need

MakeSteps = Callable[[int, int], pd.DataFrame]


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """Return the browser, which is started once."""
    need("chromium")
    started = Chromium(tmp_path_factory.mktemp("chromium"))
    yield started
    started.close()


@pytest.fixture
def make_steps() -> MakeSteps:
    """Return a maker of step frames for some nodes and steps; the first two steps are warm-up, the first is slow."""

    def make(nodes: int, count: int) -> pd.DataFrame:
        rank, step = np.repeat(range(nodes), count), np.tile(range(1, count + 1), nodes)
        step_time_ms = np.where(step == 1, 60_000.0, 10_000.0 + 100 * rank + (37 * step + 11 * rank) % 50)
        return pd.DataFrame(
            {
                "node": [f"node-{number:03}" for number in rank],
                "node_rank": rank,
                "attempt": 1,
                "step": step,
                "counted": step > 2,
                "step_time_ms": step_time_ms,
                "tokens_per_sec_per_gpu": 65_536_000.0 / step_time_ms,
                "loss": 12.0 - 8.0 * step / count,
            }
        )

    return make


@pytest.fixture
def plan() -> dict[str, t.Any]:
    """Return the plan of a run on two nodes."""
    return {
        "framework": "megatron",
        "model": "llama3_1_8b",
        "gpu": "mi300x",
        "mode": "multi_node",
        "config_file": "configs/llama.json",
        "container_engine": "docker",
        "first_step": 1,
        "parameters": {"global_batch_size": 128, "sequence_length": 8192, "precision": "fp8", "fsdp": False},
        "warnings": [{"key": "shm_size", "value": "128G", "message": "It has no effect.", "remedy": "Leave it out."}],
        "nodes": [
            {
                "node": f"node-{rank:03}",
                "node_rank": rank,
                "image": "rocm/megatron-lm:v25.5",
                "env": {"MASTER_PORT": "6000", "NODE_RANK": str(rank)},
                "argv": ["bash", "-c", "train it"],
            }
            for rank in range(2)
        ],
    }


@pytest.fixture
def summary() -> dict[str, t.Any]:
    """Return the summary of a passed run on two nodes."""
    step_time = {"median": 10_050.4, "mean": 10_060.0, "p05": 10_001.0, "p95": 10_149.0, "stdev": 50.1}
    return {
        "run_id": "run-7",
        "framework": "megatron",
        "model": "llama3_1_8b",
        "gpu": "mi300x",
        "verdict": "PASS",
        "reasons": [{"code": "threshold_met", "message": "The step time is met."}],
        "ledger": [
            {
                "node": f"node-{rank:03}",
                "node_rank": rank,
                "rows": {
                    "exit status": {"verdict": "PASS", "evidence": "0"},
                    "steps": {"verdict": "PASS", "evidence": f"1 to {20 - rank} of 20"},
                },
            }
            for rank in range(2)
        ],
        "thresholds_judged": True,
        "thresholds": [
            {
                "metric": "step_time_ms",
                "kind": "max",
                "value": 10_500.0,
                "unit": "ms",
                "least": None,
                "greatest": 10_500.0,
                "measured": 10_123.4,
                "node": "node-001",
                "statistic": "median",
                "interval": {"low": 10_100.0, "high": 10_150.0},
                "missing": [],
                "met": True,
            }
        ],
        "started_at": "2026-07-11T09:12:03+00:00",
        "ended_at": "2026-07-11T09:17:44+00:00",
        "warmup_steps": 2,
        "first_failure": None,
        "notes": [],
        "stragglers": {"nodes": [], "message": ""},
        "mfu": None,
        "metrics": {
            "step_time_ms": {
                **step_time,
                "value": 10_123.4,
                "value_node": "node-001",
                "unit": "ms",
                "statistic": "median",
                "samples": 36,
                "first_step": 3,
                "last_step": 20,
                "threshold": 10_500.0,
                "direction": "max",
                "met": True,
            }
        },
        "nodes": [
            {
                "node": f"node-{rank:03}",
                "node_rank": rank,
                "state": "exited",
                "exit_code": 0,
                "attempts": 1,
                "last_step": 20,
                "steps_total": 20,
                "samples": 18,
                "metrics": {"step_time_ms": {"median": 10_050.0, "p05": 10_001.0, "p95": 10_149.0, "value": 10_050.0}},
            }
            for rank in range(2)
        ],
    }
