# SPDX-License-Identifier: GPL-3.0-or-later
"""A training config for MaxText as far as it could be read."""

from __future__ import annotations

from ...cvs.reading import CvsBranchReading, CvsReading
from .branch_config import MaxTextModelParameters
from .config import MaxTextConfig
from .options import MaxTextOptions

Reading = CvsReading[MaxTextConfig, MaxTextOptions]
BranchReading = CvsBranchReading[MaxTextConfig, MaxTextOptions, MaxTextModelParameters]


def model_of(reading: BranchReading) -> str:
    """Return MaxText's name for the model."""
    return reading.parameters.model_name or reading.branch.model
