# SPDX-License-Identifier: GPL-3.0-or-later
"""JAX MaxText: its names. The module `job`, loaded only on demand, turns its config into a job."""

from __future__ import annotations

import re
import typing as t

from ..cvs_framework import CvsFramework
from .options import PLATFORM, MaxTextOptions

if t.TYPE_CHECKING:
    from ...cvs.form import CvsForm
    from .branch_config import MaxTextModelParameters
    from .config import MaxTextConfig

# Keys that only configs or branches for MaxText have; this works even if the JSON is broken.
_TELLING_KEYS = re.compile(
    r'"(coordinator_ip|training_steps|xla_flags|enable_checkpointing|per_device_batch_size|max_target_length)"\s*:'
)


class MaxText(CvsFramework[MaxTextOptions]):
    """JAX MaxText."""

    name = "maxtext"
    title = "MaxText"
    options = MaxTextOptions
    launcher = "maxtext"
    platforms = (PLATFORM,)

    @property
    def form(self) -> CvsForm[MaxTextConfig, MaxTextModelParameters, MaxTextOptions]:
        """The models of its sections, and how they become a job."""
        from .job import FORM  # noqa: PLC0415

        return FORM

    def recognizes(self, text: str, _source: str) -> bool:
        """Return whether a training config is certainly of this framework."""
        return _TELLING_KEYS.search(text) is not None

    def cell_values(self, values: dict[str, t.Any]) -> dict[str, t.Any]:
        """Return the values of a cell, some of which may be under ``maxtext_overrides``."""
        inner = values.get("maxtext_overrides")
        named = {**values, **(inner if isinstance(inner, dict) else {})}
        return {key: value for key, value in named.items() if key != "maxtext_overrides"}


FRAMEWORK = MaxText()
