# SPDX-License-Identifier: GPL-3.0-or-later
"""A finished run as one row of the history, with its nodes' environment."""

from __future__ import annotations

import hashlib
import json
import typing as t
from collections.abc import Mapping, Sequence

from ...module_utils.logs.record import METRICS
from ..contracts import Interval, Plan, Reason, Status, Summary
from ..plan.config.secret_names import without_secrets
from ..text.comparison import comparison_finding

Environment = dict[str, t.Any]

# Variables that only identify a run or a node.
_LABELS = {"TRAINOPS_RUN_ID", "TRAINOPS_NODE", "NODE_RANK"}


def environment_of(plan: Plan, statuses: Sequence[Status]) -> Environment:
    """Return the environment of a plan's nodes, without secrets; ``statuses`` are its nodes' statuses, in its order.

    The run's own folder and the files of its secrets have another name in each run, so they are written as
    ``{run_folder}`` and ``{secret}``.
    """
    images = (status["machine"]["image_id"] for status in statuses)
    nodes = [_of_node(node, image_id) for node, image_id in zip(plan["nodes"], images, strict=True)]
    names = dict.fromkeys(name for given in nodes for name in given)
    return {name: _folded([given.get(name) for given in nodes]) for name in names}


def _of_node(node: Mapping[str, t.Any], image_id: str | None) -> dict[str, str]:
    env = node.get("env", {})
    # The argument KEY=VALUE repeats the variable.
    assignments = {f"{name}={value}" for name, value in env.items()}
    given: dict[str, t.Any] = {
        "image": node.get("image"),
        "image digest": image_id,
        "command": [word for word in node.get("argv", []) if word not in assignments],
        "working_dir": node.get("working_dir"),
        "devices": node.get("devices"),
        **{f"container {name}": value for name, value in node.get("container_options", {}).items()},
        **{f"mount {mount['target']}": mount["source"] for mount in node.get("mounts", [])},
        **{f"file {name}": text for name, text in node.get("files", {}).items()},
        **{name: value for name, value in env.items() if name not in _LABELS},
    }
    masked = {name: without_secrets(value, name) for name, value in given.items() if value not in (None, [], "")}
    general = {secret["target"]: "{secret}" for secret in node.get("secrets", [])}
    if "run_folder" in node:
        general[node["run_folder"]] = "{run_folder}"
    return {_general(name, general): _general(value, general) for name, value in masked.items()}


def _general(value: t.Any, general: Mapping[str, str]) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    for own, name in general.items():
        text = text.replace(own, name)
    return text


def _folded(values: list[str | None]) -> str | list[str | None] | None:
    return values[0] if len(set(values)) == 1 else values


def changes(before: Environment, after: Environment) -> list[dict[str, t.Any]]:
    """Return the additions, removals and changes from one environment to another, by name.

    Each change has ``name``, ``kind`` (``added``, ``removed`` or ``changed``), ``before`` and ``after`` (None: not
    set), and ``places``, the places in rank order with this change, or None for all nodes. Places that changed alike
    are one change. If the numbers of nodes differ, only the settings that all nodes share are compared.
    """
    found = []
    for name in sorted({*before, *after}):
        for (old, new), places in _pairs(before.get(name), after.get(name)).items():
            kind = "added" if old is None else "removed" if new is None else "changed"
            found.append({"name": name, "kind": kind, "before": old, "after": new, "places": places})
    return found


def _pairs(old: t.Any, new: t.Any) -> dict[tuple[t.Any, t.Any], list[int] | None]:
    """Return the pairs of different values, and the places that have them."""
    if not isinstance(old, list) and not isinstance(new, list):
        return {(old, new): None} if old != new else {}
    if isinstance(old, list) and isinstance(new, list) and len(old) != len(new):
        return {}
    count = len(old) if isinstance(old, list) else len(new)
    olds, news = (value if isinstance(value, list) else [value] * count for value in (old, new))
    pairs: dict[tuple[t.Any, t.Any], list[int] | None] = {}
    for place, pair in enumerate(zip(olds, news, strict=True)):
        if pair[0] != pair[1]:
            pairs[pair] = [*(pairs.get(pair) or []), place]
    return pairs


def setting_of(change: Mapping[str, t.Any]) -> Reason:
    """Return a change as a finding."""
    places = change["places"]
    where = "" if places is None else "_in_place" if len(places) == 1 else "_in_places"
    values = {name: change[name] for name in ("name", "before", "after", "places")}
    return comparison_finding("setting", change["kind"] + where, **values)


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
# No measurement is this large, and its square, in a standard deviation, could overflow.
_ENDLESS = 1e100

# These do not change the measurement, or only its length.
_NO_IDENTITY = {"iterations", "nic_type", "device"}
# Sizes that grow with the number of nodes. The global batch size may or may not.
_OF_SCALE = {"nnodes", "data_parallelism", "global_batch_size"}
# Config keys whose values are also parameters: their overrides add nothing.
_TOLD_BY_PARAMETERS = {
    *("training_iterations", "training_steps", "max_steps"),
    *("nnodes", "num_nodes"),
    *("batch_size", "global_batch_size"),
}


def row_of(summary: Summary, plan: Plan, statuses: Sequence[Status]) -> Row:
    """Return the row of a judged run; ``statuses`` are the plan's nodes' statuses, in its order.

    ``identity`` (JSON) is everything that makes two runs the same measurement: framework, model, GPU, nodes, image
    digest, precision, batch and the other parameters, and any other overrides of the config. ``key`` is its hash, and
    ``scaling_key`` the hash without the sizes that grow with the number of nodes. ``environment`` (JSON) is the nodes'
    environment; it is missing if the run was judged from its logs alone. Each metric has its value from the summary,
    and ``_low`` and ``_high``, the bounds of its interval there; NaN, infinite and absurd values are None.
    ``loss_step`` is the step of the loss, which older rows lack.
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
        # A run that never started its image is identified by the image's name.
        "image_digest": ", ".join(digests) or plan["nodes"][0].get("image"),
        "overrides": {
            key: value
            for key, value in plan.get("overrides", {}).items()
            if key.rpartition(".")[2] not in _TOLD_BY_PARAMETERS
        },
    }


def _without_scale(identity: Mapping[str, t.Any]) -> dict[str, t.Any]:
    same = {name: value for name, value in identity.items() if name not in _OF_SCALE}
    # On one node, single-node and multi-node jobs are the same.
    return {**same, "mode": "multi_node"} if identity.get("nnodes") == 1 else same


def comparable(metric: str, row: Mapping[str, t.Any], other: Mapping[str, t.Any]) -> bool:
    """Return whether two runs' values of a metric can be compared: losses only from the same step."""
    return metric != "loss" or (row["loss_step"] is not None and row["loss_step"] == other["loss_step"])


def hashed(identity: Mapping[str, t.Any]) -> str:
    """Return a hash of an identity: 12 hexadecimal digits."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]
