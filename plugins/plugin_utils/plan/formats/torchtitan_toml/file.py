# SPDX-License-Identifier: GPL-3.0-or-later
"""A config for TorchTitan as its trainer takes it."""

from __future__ import annotations

from dataclasses import dataclass

from ...config.toml_config import TomlConfig


@dataclass(frozen=True)
class TitanFile(TomlConfig):
    """TorchTitan's TOML with its table ``trainops``.

    ``mode`` is that of a run that asks for none; ``model`` is what the file that it was made from calls its model.
    """

    mode: str = "multi_node"
    model: str = ""
