# SPDX-License-Identifier: GPL-3.0-or-later
"""What an inventory source says: hosts in their order, each with its variables and its place in the network."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Host:
    """A host of an inventory, with its variables.

    ``topology`` is where it stands in the network, from the outermost to the nearest: ``("spine1", "rack3")``.
    """

    name: str
    variables: dict[str, t.Any] = field(default_factory=dict)
    topology: tuple[str, ...] = ()
