# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan variables that only MaxText has."""

from __future__ import annotations

import typing as t

from ...config.field_types import PathOrNothing, Written
from ...config.model import key
from ...job.options import RunOptions

PLATFORM = "gke"
EntryPoint = t.Annotated[
    str, Written("([A-Za-z0-9_/][A-Za-z0-9_./-]*)?", "a script or module", "a script or module, or nothing", free=True)
]


class MaxTextOptions(RunOptions):
    """Location and version of MaxText."""

    training_maxtext_root: PathOrNothing = key(
        "MaxText checkout, in place of the image's (/workspace/maxtext).", default=""
    )
    training_maxtext_entry_point: EntryPoint = key(
        "Training script in the checkout, or module. By default the image's tag decides.", default=""
    )
    training_maxtext_python: PathOrNothing = key("Python that runs MaxText, instead of python3.", default="")
