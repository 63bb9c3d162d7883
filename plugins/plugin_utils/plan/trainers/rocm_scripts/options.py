# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan variables that only Megatron-LM has."""

from __future__ import annotations

import typing as t

from ...config.field_types import PathOrNothing, Written
from ...config.model import key
from ...job.options import RunOptions

Release = t.Annotated[
    str,
    Written(r"(v?[0-9]{2}\.[0-9]{1,2})?", "a release", "a release such as v25.5, or nothing"),
]


class MegatronOptions(RunOptions):
    """Location and version of Megatron-LM."""

    training_megatron_root: PathOrNothing = key(
        "Megatron-LM checkout to use instead of the config's megatron_root.", default=""
    )
    training_megatron_release: Release = key(
        "Release of ROCm's Megatron-LM images that the training scripts come from, for example v25.5. By default "
        "the image's tag decides.",
        default="",
    )
