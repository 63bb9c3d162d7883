# SPDX-License-Identifier: GPL-3.0-or-later
"""A TorchTitan config as the checks see it."""

from __future__ import annotations

from ...formats.torchtitan_run.config import RunFile
from ...formats.torchtitan_toml.config import TorchTitanConfig
from ...job.reading import ConfigReading, ConfigT, OverridesReading
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


class NamedReading(RunReading[RunFile], OverridesReading[RunFile, TorchTitanOptions]):
    """A config of TorchTitan since 0.3 by its name, and the run around it."""
