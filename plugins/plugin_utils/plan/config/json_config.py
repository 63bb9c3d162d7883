# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading a JSON training config, and the values that plain JSON has."""

from __future__ import annotations

import collections
import json
import math
import typing as t

from ...text.words import key_path, shown
from .budget import MOST_VALUES, TOO_DEEP, over_budget
from .findings import Findings
from .secret_names import line_without_secrets


def as_json(value: t.Any) -> t.Any:
    """Return a value of YAML as JSON has it: names as text, and dates and numbers that JSON lacks as well."""
    if isinstance(value, dict):
        return {str(key): as_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_json(inner) for inner in value]
    if isinstance(value, float) and value - value != 0:
        return str(value)
    if isinstance(value, int) and over_budget(value, MOST_VALUES):
        return hex(value)
    return value if isinstance(value, str | int | float | None) else str(value)


_SHOWN = 500
# Objects with duplicate keys, by identity, with these keys.
_Repeated = dict[int, tuple[dict[str, t.Any], list[str]]]


def read_json(
    text: str,
    source: str,
    findings: Findings,
    option: str = "training_config",
    sections: str = 'sections "config" and "model_params"',
    most_values: int = MOST_VALUES,
) -> dict[str, t.Any] | None:
    """Return the JSON object in the text, without its documentation keys; None, and a fault, if there is none.

    Documentation keys begin with ``_`` (``_example_nnodes``, ``_comment``, ``__note``), or are ``$schema`` at the top,
    which is for editors. ``source`` is the file's name, ``option`` the option that gave it, and ``sections`` the
    sections that it should contain. A duplicate key is a fault, and so are more than ``most_values`` values.
    """
    repeated: _Repeated = {}

    def unique(pairs: list[tuple[str, t.Any]]) -> dict[str, t.Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            counts = collections.Counter(key for key, _value in pairs)
            twice = [key for key in values if counts[key] > 1 and not key.startswith("_")]
            repeated[id(values)] = values, twice
        return values

    try:
        # Values that are not JSON numbers (NaN, Infinity, 1e999) stay text, which number fields reject.
        data = json.loads(
            text.removeprefix("\ufeff"), object_pairs_hook=unique, parse_constant=str, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        _fault_syntax(text, source, error, findings, option)
        return None
    except RecursionError:
        _fault_budget(source, TOO_DEEP, findings, option)
        return None
    except ValueError as error:
        findings.fault(option, source, f"{source} cannot be read: {error}.", "Shorten the number.")
        return None
    if not isinstance(data, dict):
        findings.fault(
            option,
            source,
            f"{source} contains {shown(data)}, not an object.",
            f"Start it with {{ and give the {sections}.",
        )
        return None
    if reason := over_budget(data, most_values):
        _fault_budget(source, reason, findings, option)
        return None
    data.pop("$schema", None)
    return t.cast("dict[str, t.Any]", _without_documentation(data, "", repeated, findings))


def _fault_budget(source: str, reason: str, findings: Findings, option: str) -> None:
    findings.fault(
        option,
        source,
        f"{source} cannot be read: {reason}.",
        "Look for content that does not belong there, such as unclosed brackets.",
    )


def _finite(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else digits


def _fault_syntax(text: str, source: str, error: json.JSONDecodeError, findings: Findings, option: str) -> None:
    lines = text.splitlines() or [""]
    found = lines[min(error.lineno, len(lines)) - 1].strip()[:_SHOWN]
    findings.fault(
        option,
        line_without_secrets(found),
        f"{source}, line {error.lineno}, column {error.colno}: not valid JSON ({error.msg}).",
        "Check for missing or extra commas, quotes and brackets there or on the line before.",
    )


def _without_documentation(value: t.Any, path: str, repeated: _Repeated, findings: Findings) -> t.Any:
    if isinstance(value, dict):
        for key in repeated.get(id(value), (value, []))[1]:
            where = key_path(path, key)
            findings.fault(where, value[key], f"{key} is given more than once.", "Keep one of them.")
        return {
            key: _without_documentation(inner, key_path(path, key), repeated, findings)
            for key, inner in value.items()
            if not key.startswith("_")
        }
    if isinstance(value, list):
        return [_without_documentation(inner, key_path(path, i), repeated, findings) for i, inner in enumerate(value)]
    return value
