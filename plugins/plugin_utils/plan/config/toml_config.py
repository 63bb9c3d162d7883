# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading a TOML training config, and writing it with other values."""

from __future__ import annotations

import copy
import math
import tomllib
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, replace

import tomlkit

from .budget import TOO_DEEP, over_budget
from .findings import Findings
from .overrides import fault_no_place, within_depth
from .secret_names import line_without_secrets

# The parser's time grows with the square of the number of parts of a key, which are on one line.
_LONGEST_LINE = 2000
_LINE = "(at line "


@dataclass(frozen=True)
class TomlConfig:
    """A TOML file: its ``text``, and its ``values`` as plain data."""

    text: str
    values: dict[str, t.Any]


def read_toml(text: str, source: str, findings: Findings) -> TomlConfig | None:
    """Return the config in the text, or None and a fault. ``source`` is the file's name."""
    if max(map(len, text.split("\n"))) > _LONGEST_LINE:
        message = f"{source} cannot be read: it has a line of more than {_LONGEST_LINE} characters."
        findings.fault("training_config", source, message, "Divide it into several.")
        return None
    try:
        values = _plain(tomllib.loads(text.removeprefix("\ufeff")))
    except tomllib.TOMLDecodeError as error:
        reason, _at, place = str(error).partition(f" {_LINE}")
        lines = text.splitlines()
        number = int(place.partition(",")[0]) if place[:1].isdigit() else len(lines)
        found = lines[number - 1].strip() if 0 < number <= len(lines) else ""
        message = f"{source}, line {number}: not valid TOML ({reason})."
        findings.fault("training_config", line_without_secrets(found), message, "Check brackets, quotes and = there.")
        return None
    except (ValueError, RecursionError) as error:
        reason = TOO_DEEP if isinstance(error, RecursionError) else str(error)
        findings.fault("training_config", source, f"{source} cannot be read: {reason}.", "Fix that.")
        return None
    if too_much := over_budget(values):
        findings.fault("training_config", source, f"{source} cannot be read: {too_much}.", "Make it smaller.")
        return None
    return TomlConfig(text, values)


ConfigT = t.TypeVar("ConfigT", bound=TomlConfig)


def with_overrides(config: ConfigT, overrides: Mapping[str, t.Any], findings: Findings) -> ConfigT:
    """Return a config with the values set at their key paths, and report those that do not fit."""
    values = copy.deepcopy(config.values)
    for path, value in within_depth(overrides, findings):
        *tables, key = path.split(".")
        table: t.Any = values
        for name in tables:
            table = table.setdefault(name, {}) if isinstance(table, dict) else None
        if isinstance(table, dict):
            table[key] = value
        else:
            fault_no_place(path, value, "there is a value, not a table, on the way to it", findings)
    return replace(config, text=written(values), values=values)


def written(values: Mapping[str, t.Any]) -> str:
    """Return plain data as TOML, without comments; null is left out, because TOML has none."""
    return tomlkit.dumps(_without_null(values)).strip() + "\n"


def _without_null(value: t.Any) -> t.Any:
    if isinstance(value, Mapping):
        return {key: _without_null(inner) for key, inner in value.items() if inner is not None}
    return [_without_null(inner) for inner in value if inner is not None] if isinstance(value, list) else value


def _plain(value: t.Any) -> t.Any:
    """Return a value of TOML in the form of JSON: dates, and numbers that are not finite, become text."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    is_json = isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    return value if is_json else str(value)
