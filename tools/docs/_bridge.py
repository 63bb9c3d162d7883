# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the page on training configs for Megatron Bridge that come from the models."""

from __future__ import annotations

from docs._tables import sections, table, variable

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.bridge_yaml.config import RecipeConfig


def values() -> dict[str, str]:
    """Return the parts of the page, by name."""
    return {"top": table(RecipeConfig, variable), "sections": "\n".join(sections(RecipeConfig, ""))}
