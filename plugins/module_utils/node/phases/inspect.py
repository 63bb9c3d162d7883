# SPDX-License-Identifier: GPL-3.0-or-later
"""Inspecting a node before a training."""

from __future__ import annotations

import typing as t

from ..inspection import facts
from ..phase import Answer

if t.TYPE_CHECKING:
    from ..contracts import Request


def inspect(request: Request) -> Answer:
    """Return the ``facts`` about the node, see `inspection.facts`; nothing changes there."""
    asked = request["inspection"]
    return {"facts": facts.inspect(asked["paths"], asked["master_address"], asked["master_port"], asked["image"])}
