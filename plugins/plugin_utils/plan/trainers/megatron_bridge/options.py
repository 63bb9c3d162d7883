# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan variables that only Megatron Bridge has."""

from __future__ import annotations

from ...config.field_types import PathOrNothing
from ...config.model import key
from ...job.options import RunOptions


class BridgeOptions(RunOptions):
    """Location of Megatron Bridge."""

    training_megatron_bridge_root: PathOrNothing = key(
        "Folder of Megatron Bridge with scripts/training/run_recipe.py, in the container or on the nodes; overrides "
        "trainops.bridge_root in the config.",
        default="",
    )
    training_megatron_bridge_python: PathOrNothing = key(
        "Python that has Megatron Bridge; overrides trainops.python in the config.", default=""
    )
