# SPDX-License-Identifier: GPL-3.0-or-later
"""A finished run as one row of the history."""

from __future__ import annotations

import hashlib
import json
import typing as t
from collections.abc import Mapping, Sequence

from ...module_utils.logs.record import METRICS
from ..contracts import Interval, Plan, Status, Summary
from .history_environment import environment_of

Row = dict[str, t.Any]

TEXTS = (
    "run_id",
    "verdict",
    "failure",
    "mode",
    "model",
    "gpu",
    "precision",
    "image",
    "image_digest",
    "key",
    "scaling_key",
    "identity",
    "environment",
    "config_file",
)
NUMBERS = (
    "nnodes",
    "gpus_per_node",
    "global_batch_size",
    "micro_batch_size",
    "sequence_length",
    "samples",
    "loss_step",
)
MEASURED = (*METRICS, "mfu")
# No measurement is this large, and the square of such a number, as in a standard deviation, may overflow.
_ENDLESS = 1e100

# These change what is measured in no way, or only for how long.
_NO_IDENTITY = {"iterations", "nic_type", "device"}
# What grows with the number of nodes. The global batch size may, or may not.
_OF_SCALE = {"nnodes", "data_parallelism", "global_batch_size"}
# Keys of configs whose values the parameters have: the override of one says nothing more.
_TOLD_BY_PARAMETERS = {
    *("training_iterations", "training_steps", "max_steps"),
    *("nnodes", "num_nodes"),
    *("batch_size", "global_batch_size"),
}


def row_of(summary: Summary, plan: Plan, statuses: Sequence[Status]) -> Row:
    """Return the row of a judged run; ``statuses`` are those of the plan's nodes, in its order.

    ``identity`` (JSON) is all that makes two runs the same measurement: framework, model, GPU, nodes, image digest,
    precision, batch and the other parameters, and what else overrides the config. ``key`` is its hash, and
    ``scaling_key`` that of the identity without what grows with the number of nodes. ``environment`` (JSON) is what the
    nodes were given; of a run that was judged from its logs alone there is none. Of a metric there is its value in the
    summary, and ``_low`` and ``_high``, the bounds of its interval there; what is NaN, infinite or absurd is None.
    ``loss_step`` is the step of the loss, which older rows do not have.
    """
    identity = _identity(plan, statuses)
    parameters, loss = plan["parameters"], summary["metrics"].get("loss")
    row: Row = {
        "run_id": plan["run_id"],
        "framework": plan["framework"],
        "started_at": summary["started_at"],
        "ended_at": summary["ended_at"],
        "verdict": summary["verdict"],
        "failure": summary["first_failure"] and summary["first_failure"]["class"],
        **{name: plan[name] for name in ("mode", "model", "gpu")},
        "precision": parameters.get("precision"),
        "image": plan["nodes"][0].get("image"),
        "image_digest": identity["image_digest"],
        "key": hashed(identity),
        "scaling_key": hashed(_without_scale(identity)),
        "identity": json.dumps(identity, sort_keys=True),
        "environment": json.dumps(environment_of(plan, statuses), ensure_ascii=False),
        "config_file": plan.get("config_file"),
        **{name: parameters.get(name) for name in NUMBERS if name not in ("samples", "loss_step")},
        "samples": min((found["samples"] for name, found in summary["metrics"].items() if name in METRICS), default=0),
        "loss_step": loss.get("last_step") if loss else None,
    }
    for metric in METRICS:
        found = summary["metrics"].get(metric)
        row |= _measured(metric, found["value"], found.get("interval")) if found else _measured(metric, None, None)
    return row | _measured("mfu", summary.get("mfu"), None)


def _measured(metric: str, value: float | None, interval: Interval | None) -> Row:
    if value is not None and not abs(value) < _ENDLESS:
        value = interval = None
    low, high = (interval["low"], interval["high"]) if interval else (None, None)
    return {metric: value, f"{metric}_low": low, f"{metric}_high": high}


def _identity(plan: Plan, statuses: Sequence[Status]) -> dict[str, t.Any]:
    digests = sorted({image for status in statuses if (image := status["machine"]["image_id"])})
    parameters = {name: value for name, value in plan["parameters"].items() if name not in _NO_IDENTITY}
    return {
        **parameters,
        **{name: plan[name] for name in ("framework", "mode", "model", "gpu")},
        # A run that never came to its image is known by the image's name.
        "image_digest": ", ".join(digests) or plan["nodes"][0].get("image"),
        "overrides": {
            key: value
            for key, value in plan.get("overrides", {}).items()
            if key.rpartition(".")[2] not in _TOLD_BY_PARAMETERS
        },
    }


def _without_scale(identity: Mapping[str, t.Any]) -> dict[str, t.Any]:
    same = {name: value for name, value in identity.items() if name not in _OF_SCALE}
    # On one node a job of its own and a job over all nodes are the same.
    return {**same, "mode": "multi_node"} if identity.get("nnodes") == 1 else same


def comparable(metric: str, row: Mapping[str, t.Any], other: Mapping[str, t.Any]) -> bool:
    """Return whether two runs' values of a metric can be compared: losses only where they stem from the same step."""
    return metric != "loss" or (row["loss_step"] is not None and row["loss_step"] == other["loss_step"])


def hashed(identity: Mapping[str, t.Any]) -> str:
    """Return 12 hexadecimal digits that stand for an identity."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]
