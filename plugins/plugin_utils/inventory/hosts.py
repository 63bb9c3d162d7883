# SPDX-License-Identifier: GPL-3.0-or-later
"""The content of an inventory source: hosts in order, each with its variables and its place in the network."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Host:
    """A host of an inventory, with its variables.

    ``topology`` is its place in the network, outermost level first: ``("spine1", "rack3")``.
    """

    name: str
    variables: dict[str, t.Any] = field(default_factory=dict)
    topology: tuple[str, ...] = ()
