# SPDX-License-Identifier: GPL-3.0-or-later
"""The known formats: a folder here for each one. If two recognize a file, the first one gets it."""

from __future__ import annotations

import typing as t
from importlib import import_module

from .face import Format

FORMATS: dict[str, Format[t.Any]] = {
    name: import_module(f".{name}.format", __package__).FORMAT
    for name in (
        "cvs1",
        "cvs2",
        "cvs3",
        "nxdt_yaml",
        "primus_yaml",
        "bridge_yaml",
        "torchtitan_toml",
        "torchtitan_run",
    )
}
