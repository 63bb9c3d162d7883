# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the page on training configs for Primus that come from the models."""

from __future__ import annotations

from docs._tables import sections, table, variable

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.primus_yaml.backends import BACKENDS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.primus_yaml.experiment import Experiment


def values() -> dict[str, str]:
    """Return the parts of the page, by name."""
    return {
        "backends": ", ".join(f"`{name}`" for name in BACKENDS),
        "top": table(Experiment, variable),
        "sections": "\n".join(sections(Experiment, "")),
    }
