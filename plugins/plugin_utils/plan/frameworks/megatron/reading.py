# SPDX-License-Identifier: GPL-3.0-or-later
"""A training config for Megatron-LM as far as it could be read."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...cvs.reading import CvsBranchReading, CvsReading
from .config import MegatronConfig, MegatronModelParameters
from .options import MegatronOptions

Reading = CvsReading[MegatronConfig, MegatronOptions]
BranchReading = CvsBranchReading[MegatronConfig, MegatronOptions, MegatronModelParameters]


@dataclass(frozen=True)
class ScriptReading(BranchReading):
    """The same with the script that trains, None where a fault says that there is none, and its generation."""

    script: str | None
    generation: str

    def option(self, name: str) -> t.Any:
        """Return an option of the table `script_options.json`, None where the branch does not give it."""
        return getattr(self.parameters, name)
