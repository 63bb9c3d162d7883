# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A training config for Megatron-LM as far as it could be read."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._cvs_reading import (
    CvsBranchReading,
    CvsReading,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._megatron_config import (
    MegatronConfig,
    MegatronModelParameters,
)

Reading = CvsReading[MegatronConfig]
BranchReading = CvsBranchReading[MegatronConfig, MegatronModelParameters]


@dataclass(frozen=True)
class ScriptReading(BranchReading):
    """The same with the script that trains, None where a fault says that there is none, and its generation."""

    script: str | None
    generation: str
