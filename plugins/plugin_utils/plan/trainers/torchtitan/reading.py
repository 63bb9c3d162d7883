# SPDX-License-Identifier: GPL-3.0-or-later
"""A TorchTitan config as the checks see it."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...config.words import key_path
from ...formats.torchtitan_run.config import RunFile
from ...formats.torchtitan_toml.config import TorchTitanConfig
from ...job.reading import ConfigReading, ConfigT
from .options import TorchTitanOptions


class RunReading(ConfigReading[ConfigT, TorchTitanOptions]):
    """A config of either kind, whose table ``trainops`` says how to run it."""

    @property
    def image(self) -> str | None:
        """Return the container image, None without one."""
        return self.get("trainops.container_image") or self.options.training_image or None

    @property
    def root(self) -> str | None:
        """Return the folder to start in, None without one."""
        return self.options.training_torchtitan_root or self.get("trainops.torchtitan_root")

    @property
    def python(self) -> str | None:
        """Return the Python that has TorchTitan, None where it is the one in PATH."""
        return self.options.training_torchtitan_python or self.get("trainops.python")


class TorchTitanReading(RunReading[TorchTitanConfig]):
    """TOML for TorchTitan up to 0.2, and the run around it."""


@dataclass(frozen=True)
class NamedReading(RunReading[RunFile]):
    """A config of TorchTitan since 0.3 by its name, and the run around it.

    ``overrides`` are the values that replace the config's, by name.
    """

    overrides: t.Mapping[str, t.Any]

    def where(self, name: str) -> str:
        """Return the path in the file of a value that replaces the config's."""
        return key_path("overrides", *name.split("."))

    def number(self, name: str) -> int | None:
        """Return a whole number of 1 or more that replaces the config's; None if there is none."""
        value = self.overrides.get(name)
        text = str(value).replace("_", "")
        return int(text) if not isinstance(value, bool) and text.isascii() and text.isdigit() and int(text) else None
