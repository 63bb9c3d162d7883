# SPDX-License-Identifier: GPL-3.0-or-later
"""What the nodes of a run were given, so that two runs can be held side by side, and where they differ.

An *environment* maps names, such as ``NCCL_DEBUG`` or ``mount /data``, to a text where all nodes were given the same,
and to one text per place in rank order (``None``: not set there) where they were not.
"""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping, Sequence

from ..contracts import Plan, Reason, Status
from ..plan.config.secret_names import without_secrets
from ..text.comparison import comparison_finding

Environment = dict[str, t.Any]

# What only distinguishes one run or one node from another.
_LABELS = {"TRAINOPS_RUN_ID", "TRAINOPS_NODE", "NODE_RANK"}


def environment_of(plan: Plan, statuses: Sequence[Status]) -> Environment:
    """Return what the nodes of a plan were given, without secrets; ``statuses`` are those of its nodes, in its order.

    The run's own folder and the files of its secrets have a name of each run, and are written ``{run_folder}`` and
    ``{secret}``.
    """
    images = (status["machine"]["image_id"] for status in statuses)
    nodes = [_of_node(node, image_id) for node, image_id in zip(plan["nodes"], images, strict=True)]
    names = dict.fromkeys(name for given in nodes for name in given)
    return {name: _folded([given.get(name) for given in nodes]) for name in names}


def _of_node(node: Mapping[str, t.Any], image_id: str | None) -> dict[str, str]:
    env = node.get("env", {})
    # The argument KEY=VALUE says what the variable says.
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
    """Return what was added, removed or changed from one environment to another, by name.

    Each change has ``name``, ``kind`` (``added``, ``removed`` or ``changed``), ``before`` and ``after`` (None: not
    set), and ``places``, the places in rank order that it holds for, or None where it holds for all nodes. Places that
    changed alike are one change. Where the number of nodes is another, only what all nodes share is compared with it.
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
