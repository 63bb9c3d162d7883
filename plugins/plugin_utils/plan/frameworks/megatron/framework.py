# SPDX-License-Identifier: GPL-3.0-or-later
"""Megatron-LM on ROCm: its names. The module `job`, loaded only on demand, turns its config into a job."""

from __future__ import annotations

import re
import typing as t

from ..cvs_framework import CvsFramework
from .options import MegatronOptions

if t.TYPE_CHECKING:
    from ...cvs.form import CvsForm
    from .config import MegatronConfig, MegatronModelParameters

_OWN_KEYS = re.compile(r'"(?:training_iterations|tokenizer_model|micro_batch_size)"\s*:')
# Keys that sweep combinations name differently from model_params.
_KEYS_OF_CELLS = {"global_batch_size": "batch_size"}
_PRECISIONS_OF_CELLS = {"FP8": "TE_FP8", "BF16": "TE_BF16", "FP16": "TE_FP16"}


class Megatron(CvsFramework[MegatronOptions]):
    """Megatron-LM on ROCm."""

    name = "megatron"
    title = "Megatron-LM"
    options = MegatronOptions
    launcher = "megatron-lm"

    @property
    def form(self) -> CvsForm[MegatronConfig, MegatronModelParameters, MegatronOptions]:
        """The models of its sections, and how they become a job."""
        from .job import FORM  # noqa: PLC0415

        return FORM

    def recognizes(self, text: str, _source: str) -> bool:
        """Return whether a training config is certainly of this framework."""
        return _OWN_KEYS.search(text) is not None

    def cell_values(self, values: dict[str, t.Any]) -> dict[str, t.Any]:
        """Return the values of a combination by branch key."""
        precision = values.get("precision")
        if isinstance(precision, str):
            values = {**values, "precision": _PRECISIONS_OF_CELLS.get(precision.upper(), precision)}
        return {_KEYS_OF_CELLS.get(key, key): value for key, value in values.items()}


FRAMEWORK = Megatron()
