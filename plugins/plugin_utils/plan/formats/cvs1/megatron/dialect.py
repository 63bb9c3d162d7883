# SPDX-License-Identifier: GPL-3.0-or-later
"""Files for the scripts of ROCm's Megatron-LM."""

from __future__ import annotations

import re
import typing as t
from dataclasses import replace

from ....config.findings import Findings
from ....job.options import ConfigOptions
from ...face import Choice, Sections
from ..dialect import CvsFile, Dialect

# Keys that sweep combinations name differently from model_params.
_KEYS_OF_CELLS = {"global_batch_size": "batch_size"}
# Those up to v25 have the scripts as well.
_OF_PRIMUS = re.compile(r'"(?:container_)?image"\s*:\s*"((?![^"]*v25)[^"]*primus[^"]*)"', re.IGNORECASE)
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


def _as_primus(config: CvsFile, options: ConfigOptions, node_count: int, findings: Findings) -> tuple[t.Any, Findings]:
    from .as_primus import as_primus  # noqa: PLC0415

    return as_primus(config.data, options, node_count, findings)


# The same files, which an image of Primus trains.
PRIMUS = replace(DIALECT, trainer="primus_cli", handed=_as_primus)


def trainers_for(text: str, why: str) -> list[Choice]:
    """Return the trainers of a file for Megatron-LM, the one of its image first; ``why`` is why it is such a file."""
    of_scripts = Choice(DIALECT.trainer, why)
    image = _OF_PRIMUS.search(text)
    if image:
        return [Choice(PRIMUS.trainer, f"Its image {image[1]} is one of Primus."), of_scripts]
    return [of_scripts, Choice(PRIMUS.trainer, why)]
