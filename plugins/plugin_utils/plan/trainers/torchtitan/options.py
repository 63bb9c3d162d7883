# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan variables that only TorchTitan has."""

from __future__ import annotations

from ...config.field_types import PathOrNothing
from ...config.model import key
from ...job.options import RunOptions


class TorchTitanOptions(RunOptions):
    """Location of TorchTitan."""

    training_torchtitan_root: PathOrNothing = key(
        "Folder to start TorchTitan in; overrides trainops.torchtitan_root in the config.", default=""
    )
    training_torchtitan_python: PathOrNothing = key(
        "Python that has TorchTitan; overrides trainops.python in the config.", default=""
    )
