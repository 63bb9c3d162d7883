# SPDX-License-Identifier: GPL-3.0-or-later
"""The content of a log as values of Ansible: rows as JSON, and the warning about a log without any."""

from __future__ import annotations

import math
import typing as t

from .grammars.known import GRAMMARS
from .reader import read_log
from .record import EVIDENCE
from .rows import StepBlock, records_of


def json_value(value: float) -> float | str:
    """Return the number, or its name where JSON has no such number; ``float()`` takes both."""
    return value if math.isfinite(value) else str(value)


def measurements_of(blocks: list[StepBlock], layout: str) -> list[dict[str, t.Any]]:
    """Turn step blocks into the records or the columns that the module returns."""
    if layout == "records":
        return [dict(record, value=json_value(record["value"])) for record in records_of(blocks)]
    return [
        {
            "attempt": block["attempt"],
            "steps": block["steps"],
            "metrics": {
                metric: list(map(json_value, column))
                for metric, column in block["metrics"].items()
                if metric not in EVIDENCE
            },
        }
        for block in blocks
    ]


def no_steps(path: str, framework: str) -> str:
    """Return the warning that a grammar finds no step in a log, with the frameworks whose grammar does."""
    able = [
        name for name in sorted(GRAMMARS) if name != framework and read_log(path, name, final=True)["rows"].blocks()
    ]
    remedy = f"it is a log of {' or '.join(able)}: set framework to that" if able else "it shows no finished step"
    return f"path is {path}, but nothing in it is a step of {framework}; {remedy}"
