# SPDX-License-Identifier: GPL-3.0-or-later
"""A TorchTitan config as the checks see it."""

from __future__ import annotations

from ...formats.torchtitan_toml.config import TorchTitanConfig
from ...job.reading import ConfigReading
from .options import TorchTitanOptions


class TorchTitanReading(ConfigReading[TorchTitanConfig, TorchTitanOptions]):
    """A config for TorchTitan, and the run around it."""

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
