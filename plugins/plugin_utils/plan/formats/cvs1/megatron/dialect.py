# SPDX-License-Identifier: GPL-3.0-or-later
"""Files for the scripts of ROCm's Megatron-LM."""

from __future__ import annotations

import re
import typing as t

from ...face import Sections
from ..dialect import Dialect

# Keys that sweep combinations name differently from model_params.
_KEYS_OF_CELLS = {"global_batch_size": "batch_size"}
_PRECISIONS_OF_CELLS = {"FP8": "TE_FP8", "BF16": "TE_BF16", "FP16": "TE_FP16"}


def _sections() -> Sections:
    from .config import MegatronConfig, MegatronModelParameters  # noqa: PLC0415

    return Sections(MegatronConfig, MegatronModelParameters)


def _of_cell(values: dict[str, t.Any]) -> dict[str, t.Any]:
    precision = values.get("precision")
    if isinstance(precision, str):
        values = {**values, "precision": _PRECISIONS_OF_CELLS.get(precision.upper(), precision)}
    return {_KEYS_OF_CELLS.get(key, key): value for key, value in values.items()}


DIALECT = Dialect(
    name="megatron",
    trainer="rocm_scripts",
    telling=re.compile(r'"(training_iterations|tokenizer_model|micro_batch_size)"\s*:'),
    master_key="master_address",
    sections=_sections,
    of_cell=_of_cell,
)
