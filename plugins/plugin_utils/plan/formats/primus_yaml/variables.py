# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables in an experiment file of Primus: ``${NAME}`` must be set, ``${NAME:default}`` need not be.

Source: primus/core/config/yaml_loader.py of AMD-AGI/Primus, which reads a text as a number or a boolean only if a
variable stood in it.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

from ....text.words import key_path
from ...config.findings import Findings
from ...config.secret_names import is_secret_name

VARIABLE = re.compile(r"\$\{([^:{}]+)(?::([^}]*))?\}")
_REAL = re.compile(r"-?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)")
_LONGEST_NUMBER = 300


def resolved(value: t.Any, variables: Mapping[str, str], path: str, findings: Findings) -> t.Any:
    """Return a value with the variables in it, at any depth; report those that are not set, and leave None there."""
    if isinstance(value, dict):
        return {key: resolved(inner, variables, key_path(path, key), findings) for key, inner in value.items()}
    if isinstance(value, list):
        return [resolved(inner, variables, key_path(path, place), findings) for place, inner in enumerate(value)]
    return _of_text(value, variables, path, findings) if isinstance(value, str) else value


def _of_text(text: str, variables: Mapping[str, str], path: str, findings: Findings) -> t.Any:
    missing = [
        name
        for name, default in VARIABLE.findall(text)
        if name not in variables and f"${{{name}:{default}}}" not in text and not is_secret_name(name)
    ]
    for name in missing:
        findings.fault(
            path,
            text,
            f"The variable {name} is not set, and has no default.",
            f"Set it in trainops.container_config.env_dict, or write ${{{name}:default}}.",
        )
    if missing:
        return None
    result = VARIABLE.sub(lambda found: variables.get(found[1], found[2] or ""), text)
    return result if result == text else _scalar(result)


def _scalar(text: str) -> t.Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if len(text) > _LONGEST_NUMBER:
        return text
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    return float(text) if _REAL.fullmatch(text) else text
