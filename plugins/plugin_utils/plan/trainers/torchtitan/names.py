# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks model and flavor, or module and config, which TorchTitan looks up in its own code.

``names.json`` has the flavors of each model of TorchTitan 0.2.2 (``_supported_models``, ``_supported_experiments`` and
the models' ``__init__.py``), and the configs of each module that had a config_registry.py from then to August 2026
(b5bcd76c).
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from ...config.findings import Findings
from ...job.known_names import warn_of_unknown_name
from .reading import NamedReading, TorchTitanReading

_NAMES: t.Final[dict[str, dict[str, list[str]]]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
_MODELS, _CONFIGS = _NAMES["models"], _NAMES["configs"]
_TOML, _NAMED = "TorchTitan 0.2.2", "TorchTitan of August 2026"


def check_model(reading: TorchTitanReading) -> None:
    """Warn of a model or flavor that TorchTitan 0.2 does not have, unless the config imports models of its own."""
    experimental = reading.get("experimental")
    if isinstance(experimental, dict) and experimental.get("custom_import"):
        return
    model, flavor = reading.get("model.name"), reading.get("model.flavor")
    _check(model, flavor, _MODELS, ("model.name", "model.flavor"), _TOML, reading.findings)


def check_config(reading: NamedReading) -> None:
    """Warn of a module or config that TorchTitan does not have; a module with its whole path may be anywhere."""
    module, config = reading.get("module"), reading.get("config")
    short = module.removeprefix("torchtitan.models.").removeprefix("torchtitan.experiments.") if module else None
    if short and (short in _CONFIGS or "." not in short):
        _check(short, config, _CONFIGS, ("module", "config"), _NAMED, reading.findings)


def _check(
    name: str | None,
    part: str | None,
    known: dict[str, list[str]],
    places: tuple[str, str],
    release: str,
    findings: Findings,
) -> None:
    """Warn of an unknown model or module, or else of a part that it does not have."""
    if not name or findings.has_fault(places[0]):
        return
    if name not in known:
        warn_of_unknown_name(name, known, release, places[0], findings)
    elif part and not findings.has_fault(places[1]):
        warn_of_unknown_name(part, known[name], f"{name} of {release}", places[1], findings)
