# SPDX-License-Identifier: GPL-3.0-or-later
"""Files for JAX MaxText."""

from __future__ import annotations

import re
import typing as t

from ...face import Sections
from ..dialect import Dialect


def _sections() -> Sections:
    from .branch_config import BRANCH  # noqa: PLC0415
    from .config import MaxTextConfig  # noqa: PLC0415

    return Sections(MaxTextConfig, BRANCH)


def _of_cell(values: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the values of a cell; some may be under ``maxtext_overrides``."""
    inner = values.get("maxtext_overrides")
    named = {**values, **(inner if isinstance(inner, dict) else {})}
    return {key: value for key, value in named.items() if key != "maxtext_overrides"}


DIALECT = Dialect(
    name="maxtext",
    trainer="maxtext",
    telling=re.compile(
        r'"(coordinator_ip|training_steps|xla_flags|enable_checkpointing|per_device_batch_size|max_target_length)"\s*:'
    ),
    master_key="coordinator_ip",
    sections=_sections,
    of_cell=_of_cell,
)
