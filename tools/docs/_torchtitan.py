# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the page on training configs for TorchTitan that come from the models."""

from __future__ import annotations

from docs._tables import sections, table, variable

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.torchtitan.config import (
    TitanConfig,
    TitanParameters,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.torchtitan_run.config import RunFile
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.torchtitan_toml.config import (
    TorchTitanConfig,
)


def values() -> dict[str, str]:
    """Return the parts of the page, by name."""
    return {
        "top": table(TorchTitanConfig, variable),
        "sections": "\n".join(sections(TorchTitanConfig, "")),
        "by_name": table(RunFile, variable),
        "cvs_config": table(TitanConfig, variable),
        "cvs_parameters": table(TitanParameters, variable),
    }
