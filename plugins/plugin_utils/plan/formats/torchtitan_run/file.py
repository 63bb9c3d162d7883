# SPDX-License-Identifier: GPL-3.0-or-later
"""A config of TorchTitan by name, with values in place of its own."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...config.findings import Findings
from ...config.overrides import OVERRIDES, fault_no_place, flattened, within_depth

_OWN = ("module", "config", "trainops")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*")


@dataclass(frozen=True)
class TitanRun:
    """The file: its ``values``, and the values that replace the config's, by name with dots."""

    values: dict[str, t.Any]
    overrides: dict[str, t.Any]


def run_of(values: dict[str, t.Any], findings: Findings) -> TitanRun:
    """Return the file with its overrides by name; report names and values that cannot be arguments."""
    given = values.get(OVERRIDES)
    return TitanRun(values, flattened(given, _NAME, findings, of_file=True) if isinstance(given, dict) else {})


def with_overrides(run: TitanRun, overrides: Mapping[str, t.Any], findings: Findings) -> TitanRun:
    """Return a file with the values of ``training_overrides``: of its own keys by their paths, else of the config's."""
    values, others = run.values, dict[str, t.Any]()
    for path, value in within_depth(overrides, findings):
        keys = path.split(".")
        if keys[0] not in _OWN and (path != OVERRIDES or isinstance(value, dict)):
            others[path] = value
        elif (changed := _with(values, keys, value)) is None:
            fault_no_place(path, value, "there is a value, not an object, on the way to it", findings)
        else:
            values = changed
    return replace(run, values=values, overrides={**run.overrides, **flattened(others, _NAME, findings)})


def _with(values: t.Any, keys: list[str], value: t.Any) -> t.Any:
    """Return an object with another value at a path, or None if the path does not lead to one."""
    if not isinstance(values, dict):
        return None
    inner = value if len(keys) == 1 else _with(values.get(keys[0], {}), keys[1:], value)
    return None if inner is None and len(keys) > 1 else {**values, keys[0]: inner}
