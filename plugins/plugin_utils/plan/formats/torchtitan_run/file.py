# SPDX-License-Identifier: GPL-3.0-or-later
"""A config of TorchTitan by name, with values in place of its own."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ...config.findings import Findings
from ...config.overrides import fault_no_place, within_depth
from ...config.words import key_path, shown

OVERRIDES = "overrides"
_OWN = ("module", "config", "trainops")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*")


@dataclass(frozen=True)
class TitanRun:
    """The file: its ``values``, and the values that replace the config's, by name with dots."""

    values: dict[str, t.Any]
    overrides: dict[str, t.Any]


def run_of(values: dict[str, t.Any], findings: Findings) -> TitanRun:
    """Return the file with its overrides by name; report names and values that no argument can have."""
    given = values.get(OVERRIDES)
    overrides: dict[str, t.Any] = {}
    for name, value in _flat(given, "") if isinstance(given, dict) else ():
        where = key_path(OVERRIDES, *name.split("."))
        if not _NAME.fullmatch(name):
            message = f"{shown(name)} is not a name of an argument."
            findings.fault(where, value, message, "Give names as in training.steps.")
        elif name in overrides:
            findings.fault(where, value, f"{name} is given twice.", "Keep one of the two.")
        elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
            findings.fault(where, value, "No argument can hold a list of lists or objects.", "Give a list of values.")
        else:
            overrides[name] = value
    return TitanRun(values, overrides)


def with_overrides(run: TitanRun, overrides: Mapping[str, t.Any], findings: Findings) -> TitanRun:
    """Return a file with the values of ``training_overrides``: of its own keys by their paths, else of the config's."""
    values, replaced = run.values, dict(run.overrides)
    for path, value in within_depth(overrides, findings):
        keys = path.split(".")
        if keys[0] not in _OWN:
            name = path.removeprefix(f"{OVERRIDES}.")
            if _NAME.fullmatch(name):
                replaced[name] = value
            else:
                fault_no_place(path, value, "it is not names with dots between them", findings)
        elif (changed := _with(values, keys, value)) is None:
            fault_no_place(path, value, "there is a value, not an object, on the way to it", findings)
        else:
            values = changed
    return replace(run, values=values, overrides=replaced)


def _with(values: t.Any, keys: list[str], value: t.Any) -> t.Any:
    """Return an object with another value at a path, or None if the path does not lead to one."""
    if not isinstance(values, dict):
        return None
    inner = value if len(keys) == 1 else _with(values.get(keys[0], {}), keys[1:], value)
    return None if inner is None and len(keys) > 1 else {**values, keys[0]: inner}


def _flat(values: Mapping[str, t.Any], above: str) -> Iterator[tuple[str, t.Any]]:
    for key, value in values.items():
        name = f"{above}{key}"
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        else:
            yield name, value
