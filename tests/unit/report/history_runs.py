# SPDX-License-Identifier: GPL-3.0-or-later
"""Judged runs, as the history gets them."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

from ansible_collections.trainops.cluster.plugins.plugin_utils.contracts import Status
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history_row import row_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.status import status_of

BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def plan_of(run_id: str, nodes: int = 2, env: dict[str, str] | None = None, **changes: t.Any) -> dict[str, t.Any]:
    """Return the plan of a run; ``env`` are variables of every node, ``changes`` parameters or parts of the plan."""
    parameters = {"nnodes": nodes, "gpus_per_node": 8, "precision": "bf16", "global_batch_size": 128}
    parameters |= {"micro_batch_size": 2, "sequence_length": 8192, "iterations": 30, "nic_type": "thor2"}
    parameters |= {name: changes.pop(name) for name in list(changes) if name in parameters}
    parameters = changes.pop("parameters", parameters)
    plan = {
        "run_id": run_id,
        "framework": "megatron",
        "mode": "multi_node",
        "model": "llama3_1_8b",
        "gpu": "mi300x",
        "config_file": "llama.json",
        "rehearsal": False,
        "parameters": parameters,
        "nodes": [
            {
                "node": f"node{rank}",
                "image": "rocm/megatron-lm:v25.5",
                "argv": ["bash", "train.sh", f"NODE_RANK={rank}"],
                "working_dir": "/workspace",
                "devices": ["/dev/kfd"],
                "container_options": {"shm_size": "128G"},
                "mounts": [{"source": f"/logs/{run_id}/node{rank}", "target": f"/logs/{run_id}/node{rank}"}],
                "files": {},
                "run_folder": f"/logs/{run_id}/node{rank}",
                "secrets": [{"target": f"/dev/shm/trainops-{run_id}-node{rank}/hf_token"}],
                "env": {
                    "NODE_RANK": str(rank),
                    "LOG_DIR": f"/logs/{run_id}/node{rank}",
                    "HF_TOKEN_PATH": f"/dev/shm/trainops-{run_id}-node{rank}/hf_token",
                    "TRAINOPS_RUN_ID": run_id,
                    "TRAINOPS_NODE": f"node{rank}",
                    **(env or {}),
                },
            }
            for rank in range(nodes)
        ],
    }
    return plan | changes


def statuses_of(plan: dict[str, t.Any], image_id: str = "sha256:one") -> list[Status]:
    return [status_of({"node": node["node"], "status": "exited", "image_id": image_id}) for node in plan["nodes"]]


def summary_of(
    plan: dict[str, t.Any],
    tokens: float | None = 10_000.0,
    verdict: str = "PASS",
    hour: float | None = 0,
    loss: tuple[int, float] | None = None,
) -> dict[str, t.Any]:
    """Return the summary of a run that began this long (h) after `BEGAN` (None: never); ``loss`` is step and value."""
    began = None if hour is None else (BEGAN + timedelta(hours=hour)).isoformat(timespec="seconds")
    found = {"value": tokens, "samples": 28, "unit": "tokens/s"}
    return {
        "run_id": plan["run_id"],
        "started_at": began,
        "ended_at": began,
        "verdict": verdict,
        "first_failure": {"class": "out_of_memory"} if verdict == "FAIL" else None,
        "metrics": ({} if tokens is None else {"tokens_per_sec_per_gpu": found})
        | ({"loss": {"last_step": loss[0], "value": loss[1], "samples": 28, "unit": "1"}} if loss else {}),
    }


def run_row(
    run_id: str,
    tokens: float | None = 10_000.0,
    hour: float | None = 0,
    verdict: str = "PASS",
    image_id: str = "sha256:one",
    loss: tuple[int, float] | None = None,
    **changes: t.Any,
) -> dict[str, t.Any]:
    plan = plan_of(run_id, **changes)
    return row_of(summary_of(plan, tokens, verdict, hour, loss), plan, statuses_of(plan, image_id))
