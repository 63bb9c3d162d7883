# SPDX-License-Identifier: GPL-3.0-or-later
"""A training config for MaxText as far as it could be read."""

from __future__ import annotations

from ...formats.cvs1.maxtext.branch_config import MaxTextModelParameters
from ...formats.cvs1.maxtext.config import MaxTextConfig
from ...formats.cvs1.reading import CvsBranchReading, CvsReading
from .options import MaxTextOptions

Reading = CvsReading[MaxTextConfig, MaxTextOptions]
BranchReading = CvsBranchReading[MaxTextConfig, MaxTextOptions, MaxTextModelParameters]


def model_of(reading: BranchReading) -> str:
    """Return MaxText's name for the model."""
    return reading.parameters.model_name or reading.branch.model
