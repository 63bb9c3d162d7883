# SPDX-License-Identifier: GPL-3.0-or-later
"""What the checks of an NxDT training config look at."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence
from dataclasses import dataclass

from ...config.findings import Findings
from ...job.ranks import Node
from .config import NxdtConfig
from .data_config import AlignmentConfig
from .options import NxdtOptions


@dataclass(frozen=True)
class NxdtReading:
    """The config and the run around it; a value that was wrong in itself is None and has been noted."""

    config: NxdtConfig
    mode: str
    nodes: Sequence[Node]
    options: NxdtOptions
    findings: Findings

    @property
    def nnodes(self) -> int:
        """Return the nodes of one job."""
        return len(self.nodes) if self.mode == "multi_node" else 1

    def get(self, path: str) -> t.Any:
        """Return the value under a key path, None where it, or the section that it stands in, is missing or wrong."""
        value: t.Any = self.config
        for key in path.split("."):
            value = getattr(value, key, None)
        return value

    @property
    def alignment(self) -> AlignmentConfig | None:
        """Return how the model is fine-tuned or aligned, wherever it stands; None for pre-training."""
        return t.cast("AlignmentConfig | None", self.get(self.alignment_key))

    @property
    def alignment_key(self) -> str:
        """Return where that stands: older versions of NxDT have it in ``data``."""
        return "model_alignment_strategy" if self.get("model_alignment_strategy") else "data.alignment_strategy"

    @property
    def sequence_length(self) -> int | None:
        """Return the length of the sequences that are trained on, in tokens."""
        return t.cast("int | None", self.get("data.seq_length") or self.get("model.encoder_seq_length"))
