# SPDX-License-Identifier: GPL-3.0-or-later
"""A recipe of Megatron Bridge as the checks see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....text.words import key_path
from ...config.kinds import Switch
from ...formats.bridge_yaml.config import RecipeConfig
from ...formats.bridge_yaml.reading import RecipeFile
from ...formats.bridge_yaml.recipe_name import RecipeName
from ...job.reading import OverridesReading
from .options import BridgeOptions

FLAG = Switch()


@dataclass(frozen=True)
class BridgeReading(OverridesReading[RecipeConfig, BridgeOptions]):
    """A recipe, and the run around it.

    ``file`` is as it was read, ``name`` the facts in the recipe's name. The paths of ``overrides`` are paths in
    Bridge's ConfigContainer, and ``written`` has each as in the file, where it may begin with Hydra's + or ++.
    """

    file: RecipeFile
    name: RecipeName
    written: Mapping[str, str]

    def where(self, path: str) -> str:
        """Return the path in the file of a value that replaces the recipe's."""
        written = self.written.get(path, path)
        return key_path("training_overrides", written) if written in self.file.arguments else super().where(written)
