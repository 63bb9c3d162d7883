# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A training config for MaxText as far as it could be read."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._cvs_reading import (
    CvsBranchReading,
    CvsReading,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._maxtext_branch_config import (
    MaxTextModelParameters,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._maxtext_config import MaxTextConfig

Reading = CvsReading[MaxTextConfig]


@dataclass(frozen=True)
class BranchReading(CvsBranchReading[MaxTextConfig, MaxTextModelParameters]):
    """The same with the branch that the run uses."""

    @property
    def model_name(self) -> str:
        """Return MaxText's name of the model."""
        return self.parameters.model_name or self.branch.model
