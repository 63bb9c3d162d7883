# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a training config that a run uses, and the modes of a run."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ...text.words import shown
from ..config.findings import Findings

MODES = ("single_node", "multi_node")
_OF_FOLDERS, _LONGEST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*"), 60


def check_name(name: str, key: str, findings: Findings) -> None:
    """Report a name that cannot become part of folder names."""
    reason = None if _OF_FOLDERS.fullmatch(name) else "has characters that are not allowed there"
    if len(name) > _LONGEST:
        reason = f"has more than {_LONGEST} characters"
    if reason:
        findings.fault(
            key,
            name,
            f"{shown(name)} becomes a part of folder names, and {reason}.",
            "Use letters, digits and . _ -, starting with a letter or digit.",
        )


@dataclass(frozen=True)
class Branch:
    """What a run trains: ``path`` is the key path of its part of the config, ``values`` the content."""

    mode: str
    model: str
    gpu: str
    path: str
    values: dict[str, t.Any]
