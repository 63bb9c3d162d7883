# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults for values of ``training_overrides`` that do not fit into a training config."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping

from .budget import DEEPEST
from .findings import Findings
from .words import key_path


def within_depth(overrides: Mapping[str, t.Any], findings: Findings) -> Iterator[tuple[str, t.Any]]:
    """Yield the overrides whose paths are within the allowed depth, and report the others."""
    for path, value in overrides.items():
        if path.count(".") + path.count("[") >= DEEPEST:
            fault_no_place(path, value, f"its path is more than {DEEPEST} keys deep", findings)
        else:
            yield path, value


def fault_no_place(path: str, value: t.Any, reason: str, findings: Findings) -> None:
    """Report that no value can be set at a path, and why."""
    findings.fault(
        key_path("training_overrides", path),
        value,
        f"{path} cannot be set: {reason}.",
        "Give a key of the training config, with dots between section names.",
    )
