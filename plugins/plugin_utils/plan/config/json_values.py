# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of YAML as JSON has them."""

from __future__ import annotations

import typing as t

from .budget import MOST_VALUES, over_budget


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
