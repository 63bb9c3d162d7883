# SPDX-License-Identifier: GPL-3.0-or-later
"""A recipe of Megatron Bridge as the checks see it."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from ...config.kinds import Kind, Switch, Whole
from ...config.words import key_path, shown
from ...formats.bridge_yaml.config import RecipeConfig
from ...formats.bridge_yaml.reading import RecipeFile
from ...formats.bridge_yaml.recipe_name import RecipeName
from ...job.reading import ConfigReading
from .options import BridgeOptions

COUNT, FLAG = Whole(1), Switch()


@dataclass(frozen=True)
class BridgeReading(ConfigReading[RecipeConfig, BridgeOptions]):
    """A recipe, and the run around it.

    ``file`` is as it was read, ``name`` what the recipe's name says, and ``overrides`` are the values that replace the
    recipe's, by their paths in Bridge's ConfigContainer.
    """

    file: RecipeFile
    name: RecipeName
    overrides: Mapping[str, t.Any]

    def where(self, path: str) -> str:
        """Return the path in the file of a value that replaces the recipe's."""
        if path in self.file.arguments:
            return key_path("training_overrides", path)
        return f"overrides.{path}"

    def given(self, path: str, kind: Kind = COUNT) -> t.Any:
        """Return the value that replaces the recipe's at a path, None if there is none, or it is wrong."""
        value = self.overrides.get(path)
        if value is None:
            return None
        try:
            return kind.read(value)
        except ValueError as error:
            message = f"{path} is {shown(value)}, which {error}."
            self.findings.fault(self.where(path), value, message, f"Give {kind}.")
            return None

    def text(self, path: str) -> str:
        """Return the value that replaces the recipe's at a path as text, empty where there is none."""
        value = self.overrides.get(path)
        return value if isinstance(value, str) else ""
