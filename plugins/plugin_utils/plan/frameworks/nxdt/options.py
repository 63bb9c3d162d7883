# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of a plan that NxDT alone has."""

from __future__ import annotations

from ...config.field_types import PathOrNothing
from ...config.fields import key
from ...job.options import RunOptions


class NxdtOptions(RunOptions):
    """Where NxDT lies, and which one it is."""

    training_nxdt_root: PathOrNothing = key(
        "Folder with NxDT's training_orchestrator.py; overrides trainops.nxdt_root in the config.", default=""
    )
