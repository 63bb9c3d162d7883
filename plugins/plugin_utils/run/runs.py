# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs that the controller knows, and how one plan differs from another."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping
from pathlib import Path

from .board import PLAN_NAME


def known_runs(output_dir: str | Path) -> list[str]:
    """Return the run_ids in a folder of runs, the one that was begun last at the end."""
    plans = Path(output_dir).glob(f"*/{PLAN_NAME}")
    return [path.parent.name for path in sorted(plans, key=lambda path: path.stat().st_mtime)]


def differences(one: Mapping[str, t.Any], other: Mapping[str, t.Any]) -> list[str]:
    """Return the paths at which two plans differ, for example ``nodes.0.env.BS``."""
    return list(_differences(json.loads(json.dumps(one)), json.loads(json.dumps(other)), ""))


def _differences(one: t.Any, other: t.Any, path: str) -> t.Iterator[str]:
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        one, other = dict(enumerate(one)), dict(enumerate(other))
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            below = f"{path}.{key}" if path else str(key)
            if key not in one or key not in other:
                yield below
            else:
                yield from _differences(one[key], other[key], below)
    elif one != other:
        yield path
