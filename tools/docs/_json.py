# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON that is compact enough to read."""

from __future__ import annotations

import json
import typing as t

_LONGEST_LINE = 120


def as_json(value: t.Any, indent: str = "") -> str:
    """Return a value as JSON, each part of it on one line if that is not too long."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(indent) + len(flat) <= _LONGEST_LINE:
        return flat
    inner = f"{indent}  "
    entries = value.items() if isinstance(value, dict) else ((None, part) for part in value)
    lines = [f"{inner}{'' if key is None else f'{json.dumps(key)}: '}{as_json(part, inner)}" for key, part in entries]
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    return opened + "\n" + ",\n".join(lines) + f"\n{indent}{closed}"
