# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads an experiment file of Primus like Primus, so that both see the same values.

Source: primus/core/config/yaml_loader.py of AMD-AGI/Primus: PyYAML's safe loader, ``${NAME}`` and ``${NAME:default}``
from the environment, and the files in ``extends``: later ones win, and the file itself over all of them.
"""

from __future__ import annotations

import os
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from ....text.words import shown
from ...config.budget import TOO_DEEP, text_of
from ...config.findings import Findings
from ...config.json_config import as_json
from ...config.yaml_config import check_budget, fault_syntax
from .backends import BACKENDS, fault_backend

Values = dict[str, t.Any]
MODULES = ("pre_trainer", "post_trainer")
_DEEPEST_EXTENDS = 10


@dataclass(frozen=True)
class PrimusFile:
    """An experiment: the ``text`` that is staged, its ``values`` with variables unresolved, and the ``source``.

    ``arguments`` are values by key of the backend, dots between parts, that replace values of the module ``module``.
    ``in_image`` is the path of an experiment in the image, in Primus' folder; not all of its values are known. ``mode``
    applies if a run does not set one.
    """

    text: str
    values: Values
    source: str
    module: str
    backend: str
    arguments: Values = field(default_factory=dict)
    in_image: str = ""
    mode: str = "multi_node"


def read_experiment(text: str, source: str, findings: Findings) -> PrimusFile | None:
    """Return the experiment in a text; None, and a fault, if it is none. ``source`` is the file's name."""
    own = _loaded(text, source, findings)
    if own is None:
        return None
    values = extended(own, source, findings)
    if values is None:
        return None
    modules = values.get("modules")
    held = modules if isinstance(modules, dict) else {}
    name = next((name for name in MODULES if isinstance(held.get(name), dict)), None)
    if name is None:
        message = f"modules is {shown(modules)}, without pre_trainer or post_trainer."
        findings.fault("modules", modules, message, "Give one of the two, with framework, config, model and overrides.")
        return None
    backend = held[name].get("framework")
    if not isinstance(backend, str) or backend not in BACKENDS:
        fault_backend(f"modules.{name}.framework", backend, findings)
        return None
    return PrimusFile(text if own is values else as_yaml(values), values, source, name, backend)


def as_yaml(values: Values) -> str:
    """Return values as the text of a file."""
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=120)


def merged(base: Values, over: Values) -> Values:
    """Return two objects as one, at any depth; ``over`` wins."""
    result = dict(base)
    for key, value in over.items():
        held = result.get(key)
        result[key] = merged(held, value) if isinstance(held, dict) and isinstance(value, dict) else value
    return result


def extended(values: Values, path: str, findings: Findings, depth: int = 0) -> Values | None:
    """Return the values of a file and of the files that it extends, or None after reporting a fault."""
    if "extends" not in values:
        return values
    given = values["extends"]
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        findings.fault("extends", given, f"extends is {shown(given)}.", "Give the name of a file, or a list of them.")
        return None
    if depth == _DEEPEST_EXTENDS:
        findings.fault("extends", given, f"{path} is extended more than {depth} times.", "Check for a loop.")
        return None
    result: Values = {}
    for name in names:
        other = os.path.join(os.path.dirname(path), name)
        loaded = load(other, "extends", findings)
        base = None if loaded is None else extended(loaded, other, findings, depth + 1)
        if base is None:
            return None
        result = merged(result, base)
    return merged(result, {key: value for key, value in values.items() if key != "extends"})


def load(path: str, key: str, findings: Findings) -> Values | None:
    """Return the values in a file that is named under a key; None, and a fault, if it cannot be read."""
    try:
        text = text_of(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        findings.fault(key, path, f"{path} cannot be read: {reason}.", "Give a file next to the one that refers to it.")
        return None
    return _loaded(text, path, findings)


def _loaded(text: str, source: str, findings: Findings) -> Values | None:
    try:
        check_budget(text)
        values = as_json(yaml.safe_load(text.removeprefix("\ufeff")))
    except yaml.MarkedYAMLError as error:
        fault_syntax(text, source, error, findings)
        return None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        reason = TOO_DEEP if isinstance(error, RecursionError) else str(error).splitlines()[0].rstrip(".")
        findings.fault("training_config", source, f"{source} cannot be read: {reason}.", "Fix that.")
        return None
    if isinstance(values, dict):
        return values
    message = f"{source} contains {shown(values)}, not keys."
    findings.fault("training_config", source, message, "Give work_group, user_name, exp_name, workspace and modules.")
    return None


def value_at(values: Mapping[str, t.Any], path: str) -> t.Any:
    """Return the value at a path with dots; None if it, or a section on the way, is missing."""
    part: t.Any = values
    for name in path.split("."):
        part = part.get(name) if isinstance(part, Mapping) else None
    return part
