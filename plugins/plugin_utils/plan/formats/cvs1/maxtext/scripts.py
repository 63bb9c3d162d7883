# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of MaxText's high-performance scripts, each by its path below src/maxtext/configs.

``scripts.json`` has the keys that a script passes to MaxText, including the keys of its config file. It leaves out
output paths, profiling and the tokenizer, because all scripts train on synthetic data. The flags of the same scripts
are in `xla_flag_sets`. Source: src/maxtext/configs/{tpu,gpu,experimental}/**.sh of AI-Hypercomputer/maxtext, August
2026.
"""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping
from pathlib import Path

_Values = Mapping[str, t.Any]

SCRIPTS: t.Final[dict[str, dict[str, t.Any]]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
# These settings of a script belong to the run, not to the model; each has its key in ``config``.
_OF_CONFIG = {"steps": "training_steps", "enable_checkpointing": "enable_checkpointing"}


def script_in(data: _Values) -> str | None:
    """Return the script that a config asks for, if it exists."""
    named = _named(data)
    return named if isinstance(named, str) and named in SCRIPTS else None


def names_wrong_script(data: _Values) -> bool:
    """Return whether a config asks for a script that does not exist."""
    return _named(data) is not None and script_in(data) is None


def _named(data: _Values) -> t.Any:
    config = data.get("config")
    return config.get("maxtext_script") if isinstance(config, dict) else None


def completed(data: _Values) -> _Values:
    """Return a config, the sections untyped, with its script's values for keys that it does not set itself."""
    name = script_in(data)
    if name is None:
        return data
    keys = SCRIPTS[name]
    of_config = {own: keys[key] for key, own in _OF_CONFIG.items() if key in keys}
    of_branch = {key: value for key, value in keys.items() if key not in _OF_CONFIG}
    return {
        **data,
        "config": {**of_config, "xla_flag_set": name, **data["config"]},
        "model_params": _with_keys(data.get("model_params"), of_branch, depth=3),
    }


def _with_keys(part: t.Any, keys: _Values, depth: int) -> t.Any:
    """Return model_params, or a part of it, with keys added to every branch, which lie so much deeper."""
    if not isinstance(part, dict):
        return part
    if not depth:
        return {**keys, **part}
    return {name: _with_keys(inner, keys, depth - 1) for name, inner in part.items()}


def added_by_script(data: _Values, branch: _Values) -> dict[str, t.Any]:
    """Return the values of a branch that come from the script, by key; ``branch`` is as `completed` returns it."""
    keys = SCRIPTS.get(script_in(data) or "", {})
    return {key: value for key, value in keys.items() if key not in _OF_CONFIG and branch.get(key) == value}
