# SPDX-License-Identifier: GPL-3.0-or-later
"""A training config for MaxText as far as it could be read."""

from __future__ import annotations

from dataclasses import dataclass

from ...cvs.reading import CvsBranchReading, CvsReading
from .branch_config import MaxTextModelParameters
from .config import MaxTextConfig
from .options import MaxTextOptions

Reading = CvsReading[MaxTextConfig, MaxTextOptions]


@dataclass(frozen=True)
class BranchReading(CvsBranchReading[MaxTextConfig, MaxTextOptions, MaxTextModelParameters]):
    """The same with the branch that the run uses."""

    @property
    def model_name(self) -> str:
        """Return MaxText's name of the model."""
        return self.parameters.model_name or self.branch.model
