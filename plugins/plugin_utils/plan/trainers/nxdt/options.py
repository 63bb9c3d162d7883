# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan variables that only NxDT has."""

from __future__ import annotations

from ...config.field_types import PathOrNothing
from ...config.model import key
from ...job.options import RunOptions


class NxdtOptions(RunOptions):
    """Location of NxDT."""

    training_nxdt_root: PathOrNothing = key(
        "Folder with NxDT's training_orchestrator.py; overrides trainops.nxdt_root in the config.", default=""
    )
