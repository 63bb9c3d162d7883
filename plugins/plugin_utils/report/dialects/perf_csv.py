# SPDX-License-Identifier: GPL-3.0-or-later
"""The run as rows of ROCm MAD's ``perf.csv``, one for each metric, in the columns of madengine and their order.

The metrics have the names and units that MAD's training scripts give them. Values are those of the worst node, per GPU:
they must not be added up over nodes. ``relative_change``, which madengine leaves empty, is the change of the
performance since the last run of the same key that passed, as a fraction: 0.05 is 5 % more.
"""

from __future__ import annotations

import typing as t

from ...metrics import FIGURES, ROWS
from ..files import csv_text

if t.TYPE_CHECKING:
    from .judged_run import JudgedRun

COLUMNS = (
    "model",
    "n_gpus",
    "nnodes",
    "gpus_per_node",
    "training_precision",
    "pipeline",
    "args",
    "tags",
    "docker_file",
    "base_docker",
    "docker_sha",
    "docker_image",
    "git_commit",
    "machine_name",
    "deployment_type",
    "launcher",
    "gpu_architecture",
    "performance",
    "metric",
    "relative_change",
    "status",
    "build_duration",
    "test_duration",
    "dataname",
    "data_provider_type",
    "data_size",
    "data_download_duration",
    "build_number",
    "additional_docker_run_options",
)

_METRICS = {metric: mad for metric in FIGURES if (mad := ROWS[metric].mad)}
_ARCHITECTURES = {"mi300x": "gfx942", "mi325": "gfx942", "mi325x": "gfx942", "mi350": "gfx950", "mi355": "gfx950"}
_ARGUMENTS = ("global_batch_size", "micro_batch_size", "sequence_length", "tensor_parallelism", "pipeline_parallelism")


def perf_csv(run: JudgedRun) -> str:
    """Return a CSV file of a header and a row for each metric; one without a performance where none was measured.

    ``status`` is SUCCESS for PASS alone; a rehearsal is SKIPPED, as nothing of it is the performance of the model.
    """
    common = _common(run)
    rows = [] if run.summary["rehearsal"] else [_row(run, metric) for metric in _METRICS if metric in run.measured]
    return csv_text(COLUMNS, [common | row for row in rows or [{}]])


def _common(run: JudgedRun) -> dict[str, t.Any]:
    from ...plan.trainers.known import OF_FRAMEWORK  # noqa: PLC0415 # a second, which no other dialect needs

    summary, parameters, nodes = run.summary, run.parameters, run.plan["nodes"]
    per_node = parameters.get("gpus_per_node")
    framework = OF_FRAMEWORK.get(summary["framework"])
    rehearsal, passed = summary["rehearsal"], summary["verdict"] == "PASS"
    return {
        "model": summary["model"],
        "n_gpus": per_node * len(nodes) if per_node else "",
        "nnodes": len(nodes),
        "gpus_per_node": per_node or "",
        "training_precision": parameters.get("precision") or "",
        "args": " ".join(f"{name}={parameters[name]}" for name in _ARGUMENTS if parameters.get(name) is not None),
        "tags": ",".join(filter(None, (summary["framework"], summary["mode"], "rehearsal" if rehearsal else ""))),
        "docker_sha": run.image_digest or "",
        "docker_image": run.image or "",
        "machine_name": nodes[0]["node"],
        "deployment_type": "ansible",
        "launcher": framework.launcher if framework else "",
        "gpu_architecture": _ARCHITECTURES.get(str(summary["gpu"]).lower(), ""),
        "status": "SKIPPED" if rehearsal else "SUCCESS" if passed else "FAILURE",
        "test_duration": "" if run.seconds is None else run.seconds,
        "dataname": parameters.get("dataset_type") or ("mock" if parameters.get("mock_data") else ""),
    }


def _row(run: JudgedRun, metric: str) -> dict[str, t.Any]:
    name, factor = _METRICS[metric]
    value, before = run.measured[metric], run.previous.get(metric)
    change = f"{value / before - 1:.6f}" if before else ""
    return {"performance": value * factor, "metric": name, "relative_change": change}
