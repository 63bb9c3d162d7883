# SPDX-License-Identifier: GPL-3.0-or-later
"""That a value of ``training_overrides`` has no place in a training config."""

from __future__ import annotations

import typing as t

from .findings import Findings
from .words import key_path


def fault_no_place(path: str, value: t.Any, reason: str, findings: Findings) -> None:
    """Note that no value can be set at a path, and why."""
    findings.fault(
        key_path("training_overrides", path),
        value,
        f"{path} cannot be set: {reason}.",
        "Name a key of the training config, with dots between the names of sections.",
    )
