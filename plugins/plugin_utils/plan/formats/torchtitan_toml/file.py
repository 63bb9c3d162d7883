# SPDX-License-Identifier: GPL-3.0-or-later
"""A config for TorchTitan as its trainer takes it."""

from __future__ import annotations

from dataclasses import dataclass

from ...config.toml_config import TomlConfig


@dataclass(frozen=True)
class TitanFile(TomlConfig):
    """TorchTitan's TOML with its table ``trainops``.

    ``mode`` applies if a run does not set one; ``model`` is the model's name in the file that it was made from.
    """

    mode: str = "multi_node"
    model: str = ""
