# SPDX-License-Identifier: GPL-3.0-or-later
"""How an experiment of Primus says to run it."""

from __future__ import annotations

from ...config.findings import Findings
from ...config.model import typed
from ..face import Asked
from .reading import PrimusFile, Values
from .run_config import RunConfig

# The section of a config that says how to run.
RUN = "trainops"


def run_of(config: PrimusFile) -> Values:
    """Return the section that says how to run, or an empty one."""
    given = config.values.get(RUN)
    return given if isinstance(given, dict) else {}


def mode_of(config: PrimusFile, asked: str | None) -> str:
    """Return the mode of the run."""
    return config.mode if asked == "auto" else str(asked)


def asked_of(config: PrimusFile, mode: str | None) -> Asked:
    """Return the address of rank 0; the number of nodes is in no such file."""
    master = typed(RunConfig, run_of(config), "", Findings()).master_address
    return Asked(None, master if mode_of(config, mode) == "multi_node" else None)
