# SPDX-License-Identifier: GPL-3.0-or-later
"""A training config for Megatron-LM as far as it could be read."""

from __future__ import annotations

from dataclasses import dataclass

from ...formats.cvs1.megatron.config import MegatronConfig, MegatronModelParameters
from ...formats.cvs1.reading import CvsBranchReading, CvsReading
from .generations import known_script, reads
from .options import MegatronOptions

Reading = CvsReading[MegatronConfig, MegatronOptions]
BranchReading = CvsBranchReading[MegatronConfig, MegatronOptions, MegatronModelParameters]


@dataclass(frozen=True)
class ScriptReading(BranchReading):
    """The same with the training script, None if a fault says that there is none, and its generation."""

    script: str | None
    generation: str

    @property
    def known_script(self) -> str | None:
        """Return the known script that trains, in whatever folder, or None for another one."""
        return known_script(self.script)

    def reads(self, variable: str) -> bool:
        """Return whether the script may read a variable."""
        return reads(self.script, self.generation, variable)
