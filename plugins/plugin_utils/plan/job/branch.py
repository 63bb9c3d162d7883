# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a training config that a run uses, and the modes of a run."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

MODES = ("single_node", "multi_node")


@dataclass(frozen=True)
class Branch:
    """What a run trains: ``path`` is the key path of the part of the config that says how, ``values`` what it holds."""

    mode: str
    model: str
    gpu: str
    path: str
    values: dict[str, t.Any]
