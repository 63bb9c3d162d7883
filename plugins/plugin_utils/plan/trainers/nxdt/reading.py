# SPDX-License-Identifier: GPL-3.0-or-later
"""An NxDT training config as the checks see it."""

from __future__ import annotations

import typing as t

from ...formats.nxdt_yaml.config import NxdtConfig
from ...formats.nxdt_yaml.data_config import AlignmentConfig
from ...job.reading import ConfigReading
from .options import NxdtOptions


class NxdtReading(ConfigReading[NxdtConfig, NxdtOptions]):
    """A config for NxDT, and the run around it."""

    @property
    def alignment(self) -> AlignmentConfig | None:
        """Return how the model is fine-tuned or aligned, from either place; None for pre-training."""
        return t.cast("AlignmentConfig | None", self.get(self.alignment_key))

    @property
    def alignment_key(self) -> str:
        """Return its key: older versions of NxDT have it in ``data``."""
        return "model_alignment_strategy" if self.get("model_alignment_strategy") else "data.alignment_strategy"
