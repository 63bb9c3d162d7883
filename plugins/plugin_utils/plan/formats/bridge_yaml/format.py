# SPDX-License-Identifier: GPL-3.0-or-later
"""A recipe of Megatron Bridge by its name, with overrides, and a section ``trainops`` that says how to run it.

Bridge's recipes are functions in Python, so Bridge has no file format that selects one; this format contains the
arguments of its launcher scripts/training/run_recipe.py.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

from ...config.findings import Findings
from ...job.options import ConfigOptions
from ..face import Asked, Format

if t.TYPE_CHECKING:
    from .config import RecipeConfig
    from .reading import RecipeFile

_RECIPE = re.compile(r"^recipe\s*:", re.MULTILINE)


class BridgeYaml(Format["RecipeFile"]):
    """The YAML that selects a recipe."""

    name = "bridge_yaml"
    title = "Megatron Bridge's YAML of a recipe"
    trainers = ("megatron_bridge",)

    def recognizes(self, text: str, source: str) -> bool:
        """Return whether a training config has the key of a recipe at its top level."""
        return source.casefold().endswith((".yaml", ".yml")) and bool(_RECIPE.search(text))

    def read(self, text: str, source: str, _trainer: str, findings: Findings) -> RecipeFile | None:
        """Return the content of such a file, or None after reporting its faults."""
        from .reading import read_recipe  # noqa: PLC0415

        return read_recipe(text, source, findings)

    def overridden(
        self, config: RecipeFile, options: ConfigOptions, _node_count: int, findings: Findings
    ) -> RecipeFile:
        """Return a config with the values of ``training_overrides``.

        A path starts at a section of the file, or with a section of Bridge's ConfigContainer, as in its own arguments.
        """
        from .reading import with_overrides  # noqa: PLC0415

        return with_overrides(config, options.training_overrides, findings)

    def asked(self, config: RecipeFile, options: ConfigOptions, _node_count: int) -> Asked:
        """Return ``trainops.nnodes`` and ``trainops.master_address``."""
        from .reading import asked_of  # noqa: PLC0415

        return asked_of(config, options.training_mode)

    def models(self) -> Mapping[str, type[RecipeConfig]]:
        """Return the model of such a file."""
        from .config import RecipeConfig  # noqa: PLC0415

        return {"megatron_bridge": RecipeConfig}


FORMAT = BridgeYaml()
