# SPDX-License-Identifier: GPL-3.0-or-later
"""The frameworks that there are: the only place of the plan that lists them."""

from __future__ import annotations

import typing as t

from .face import Framework
from .maxtext.framework import MaxText
from .megatron.framework import Megatron
from .nxdt.framework import Nxdt

FRAMEWORKS: dict[str, Framework[t.Any, t.Any]] = {known.name: known for known in (Megatron(), MaxText(), Nxdt())}


def framework_of(text: str, source: str) -> str:
    """Return the framework that a training config is for; one that none recognizes is taken for the first."""
    return next((name for name, known in FRAMEWORKS.items() if known.recognizes(text, source)), next(iter(FRAMEWORKS)))
