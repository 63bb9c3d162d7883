# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that a trainer looks up in its own code, such as a recipe: it exits at its start on one that it lacks."""

from __future__ import annotations

from collections.abc import Collection

from ...text.words import nearest
from ..config.findings import Findings


def warn_of_unknown_name(name: str, known: Collection[str], owner: str, place: str, findings: Findings) -> None:
    """Warn if a release, ``owner``, does not have a name; a fork or a later release may have it."""
    if name in known:
        return
    near = nearest(name, known)
    findings.warn(
        place,
        name,
        f"{owner} does not have {name}.",
        f"Did you mean {near}?" if near else "Check the name, unless yours is a later release or a fork that has it.",
    )
