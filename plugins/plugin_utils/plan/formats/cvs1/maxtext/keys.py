# SPDX-License-Identifier: GPL-3.0-or-later
"""MaxText's keys, which a branch may set: their types, defaults and versions.

They come from ``keys.json``, which tools/write_maxtext_keys.py generates from MaxText's own packages.
"""

from __future__ import annotations

import json
import math
import typing as t
from dataclasses import dataclass
from pathlib import Path

from ....config.field_types import LINE
from ....config.kinds import Kind, OneOf, OrWord, Switch
from .images import generation_of
from .kinds import NOTHING, ListOf, MeshAxis, Structure, real, whole
from .models import DIMENSIONS

# These belong elsewhere in a training config; each with what to set instead.
ELSEWHERE = {
    "steps": "config, as training_steps",
    "enable_checkpointing": "config",
    "hf_access_token": "config, as hf_token_file, the path of a file with the token",
}
_SET_BY_PLAN = {"base_config"}
_OLDEST = "rocm-25.5"
# The last generation of ROCm's images whose MaxText is the oldest one, and the first one with the layout of 0.2.0.
_LAST_OLD, _FIRST_NEW = (25, 5), (26, 4)
_MEANINGS = {
    "data": "Replicas of the model",
    "fsdp": "Shards of the parameters",
    "sequence": "Shards of the sequence",
    "context": "Shards of the context",
    "tensor": "Shards of each layer",
    "pipeline": "Pipeline stages",
    "expert": "Shards of the experts",
}


@dataclass(frozen=True)
class MaxTextKey:
    """A key: its kind, its default in MaxText's base.yml as text, and the versions that have it.

    ``until`` is empty if the newest version has the key.
    """

    kind: Kind
    default: str
    since: str
    until: str


def _read_keys() -> dict[str, MaxTextKey]:
    data = json.loads(Path(__file__).with_name("keys.json").read_text("utf-8"))
    return {
        name: MaxTextKey(
            kind=_kind(name, key),
            default=json.dumps(key["default"], ensure_ascii=False) if "default" in key else "",
            since=key["since"],
            until=key.get("until", ""),
        )
        for name, key in data.items()
        if name not in ELSEWHERE and name not in _SET_BY_PLAN
    }


def _kind(name: str, key: dict[str, t.Any]) -> Kind:
    if name in DIMENSIONS:
        return whole(1)
    if name.startswith(("ici_", "dcn_")) and name.endswith("_parallelism"):
        return MeshAxis()
    kind = OneOf(tuple(key["choices"])) if "choices" in key else _kind_of_type(key)
    return OrWord(kind, NOTHING) if key.get("optional") else kind


def _kind_of_type(key: dict[str, t.Any]) -> Kind:
    kinds: dict[str, Kind] = {
        "boolean": Switch(),
        "integer": whole(key.get("minimum")),
        "number": real(key.get("minimum", -math.inf)),
        "text": LINE,
        "object": Structure((dict,)),
        "any": Structure((list, str, int)),
    }
    if key["type"] != "list":
        return kinds[key["type"]]
    return ListOf(kinds[key["items"]]) if key.get("items") in ("text", "integer") else Structure((list,))


KEYS = _read_keys()
# Axes of the device mesh: each has a size within a node, ici_<axis>_parallelism, and among nodes, dcn_….
AXES = tuple(
    name.removeprefix("ici_").removesuffix("_parallelism")
    for name in KEYS
    if name.startswith("ici_") and isinstance(KEYS[name].kind, MeshAxis)
)
MODELS: tuple[str, ...] = t.cast("OneOf", KEYS["model_name"].kind).names


def meaning_of(name: str) -> str:
    """Return the description of a key: the meaning of a mesh axis, and the default and versions of every key."""
    key = KEYS[name]
    group, _underscore, axis = name.removesuffix("_parallelism").partition("_")
    said = ""
    if axis in AXES and group in ("ici", "dcn"):
        among = "nodes" if group == "dcn" else "GPUs of a node"
        said = f"{_MEANINGS.get(axis, f'Size of the axis {axis}')} among the {among}. "
    default = f"Default: {key.default}. " if key.default else ""
    since = "" if key.since == _OLDEST else f"Since MaxText {key.since}. "
    return (
        f"{said}{default}{since}{f'Removed after MaxText {key.until}. ' if key.until else ''}"
    ).strip() or "Of MaxText."


def missing_in(image: str | None, names: t.Iterable[str]) -> dict[str, str]:
    """Return the keys that an image's MaxText is not known to have, each with the reason.

    For ROCm's images in between, nothing is reported: their tags do not say which MaxText they have.
    """
    generation = generation_of(image)
    if generation is None or _LAST_OLD < generation < _FIRST_NEW:
        return {}
    known = {name: KEYS[name] for name in names if name in KEYS}
    if generation <= _LAST_OLD:
        return {name: f"it came with MaxText {key.since}" for name, key in known.items() if key.since != _OLDEST}
    return {name: f"it was removed after MaxText {key.until}" for name, key in known.items() if key.until}
