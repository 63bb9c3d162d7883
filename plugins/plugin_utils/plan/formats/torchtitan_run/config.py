# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of a file that selects a config of TorchTitan 0.3 or later, where configs are Python functions."""

from __future__ import annotations

from ...config.field_types import FreeObject, Text
from ...config.model import ConfigSection, key
from ..torchtitan_toml.run_config import RunConfig


class RunFile(ConfigSection):
    """The top level of the file."""

    module: Text = key(
        "Module of the config: one of TorchTitan's by its name, or any by its whole path.", example="llama3"
    )
    config: Text = key("Name of the config in its config_registry.", example="llama3_8b")
    overrides: FreeObject = key(
        "Values in place of the config's, by their names on TorchTitan's command line, nested or with dots.",
        default={},
        example={"training": {"steps": 100}, "metrics.log_freq": 1},
    )
    trainops: RunConfig = key("How to run: read only by this collection.", default_factory=RunConfig)
