# SPDX-License-Identifier: GPL-3.0-or-later
"""The presets that an experiment of Primus uses, read from a checkout of Primus.

Source: primus/core/config/preset_loader.py and primus/core/launcher/parser.py of AMD-AGI/Primus: the module's preset
wins over the model's, and the experiment over both.
"""

from __future__ import annotations

import os
import typing as t
from collections.abc import Mapping

from ...config.findings import Findings
from .reading import PrimusFile, Values, extended, load, merged
from .variables import resolved

_CONFIGS = "primus/configs"
# The folder of a preset in a checkout, by the preset's key; later ones win.
_FOLDERS = {"model": "models", "config": "modules"}


def checkout_of(config: PrimusFile, named: str) -> str:
    """Return the checkout in an option, or else the one that the file is in; empty if there is none."""
    folder = os.path.dirname(os.path.abspath(config.source))
    while not named and folder != os.path.dirname(folder):
        if os.path.isdir(os.path.join(folder, _CONFIGS)):
            return folder
        folder = os.path.dirname(folder)
    return named


def presets_of(
    config: PrimusFile, module: Mapping[str, t.Any], checkout: str, variables: Mapping[str, str], findings: Findings
) -> Values:
    """Return the values in a module's presets; warn of a preset that cannot be read."""
    result: Values = {}
    for key, folder in _FOLDERS.items():
        name = module.get(key)
        if not isinstance(name, str) or ".." in name:
            continue
        name = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
        path = os.path.join(checkout, _CONFIGS, folder, config.backend, name)
        where, own = f"modules.{config.module}.{key}", Findings()
        loaded = load(path, where, own)
        preset = None if loaded is None else extended(loaded, path, own)
        for fault in own.faults:
            findings.warn(where, name, fault["message"], "Without this preset the plan knows less of the training.")
        # Required variables are checked on the node.
        result = merged(result, resolved(preset or {}, variables, "", Findings()))
    return result
