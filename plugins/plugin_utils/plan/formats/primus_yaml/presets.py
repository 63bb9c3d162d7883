# SPDX-License-Identifier: GPL-3.0-or-later
"""The presets that an experiment of Primus uses, read from a checkout of Primus, or known by their names.

Source: primus/core/config/preset_loader.py and primus/core/launcher/parser.py of AMD-AGI/Primus: the module's preset
wins over the model's, and the experiment over both. ``presets.json`` has the files in primus/configs of its releases
v0.5.0 to v26.6, and of August 2026 (fd1eeabb), for the backends that can be planned.
"""

from __future__ import annotations

import json
import os
import typing as t
from collections.abc import Mapping
from pathlib import Path

from ...config.findings import Findings
from ...job.known_names import warn_of_unknown_name
from .reading import PrimusFile, Values, extended, load, merged
from .variables import resolved

_CONFIGS = "primus/configs"
# The folder of a preset in a checkout, by the preset's key; later ones win.
_FOLDERS = {"model": "models", "config": "modules"}
_KNOWN: t.Final[dict[str, dict[str, list[str]]]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))


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
    """Return the values in a module's presets; warn of a preset that cannot be read.

    Without a checkout they are unknown: the warning is of a preset that no release has.
    """
    result: Values = {}
    for key, folder in _FOLDERS.items():
        name = module.get(key)
        if not isinstance(name, str) or ".." in name:
            continue
        where, own = f"modules.{config.module}.{key}", Findings()
        if not checkout:
            bare = name.removesuffix(".yaml").removesuffix(".yml")
            warn_of_unknown_name(bare, _KNOWN[folder][config.backend], "Primus of August 2026", where, findings)
            continue
        name = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
        path = os.path.join(checkout, _CONFIGS, folder, config.backend, name)
        loaded = load(path, where, own)
        preset = None if loaded is None else extended(loaded, path, own)
        for fault in own.faults:
            findings.warn(where, name, fault["message"], "Without this preset the plan knows less of the training.")
        # Required variables are checked on the node.
        result = merged(result, resolved(preset or {}, variables, "", Findings()))
    return result
