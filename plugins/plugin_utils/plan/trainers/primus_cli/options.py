# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan variables that only Primus has."""

from __future__ import annotations

from ...config.field_types import PathOrNothing
from ...config.model import key
from ...job.options import RunOptions


class PrimusOptions(RunOptions):
    """Location of Primus."""

    training_primus_root: PathOrNothing = key(
        "Folder of Primus with runner/primus-cli, in the container or on the nodes; overrides trainops.primus_root in "
        "the config.",
        default="",
    )
    training_primus_checkout: PathOrNothing = key(
        "Checkout of Primus on the controller; its presets supply values that the config leaves out. By default the "
        "one that the config is in.",
        default="",
    )
