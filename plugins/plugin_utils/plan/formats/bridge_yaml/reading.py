# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a file that selects a recipe of Megatron Bridge."""

from __future__ import annotations

import math
import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, replace

from omegaconf import OmegaConf

from ...config.findings import Findings
from ...config.json_config import as_json
from ...config.model import typed
from ...config.overrides import OVERRIDES, flattened, within_depth
from ...config.yaml_config import read_yaml
from ..face import Asked
from .config import RecipeConfig, RunConfig

Values = dict[str, t.Any]
# The section of a config that says how to run.
RUN = "trainops"
# Keys of the file; dataset is a section of Bridge's ConfigContainer as well.
_HOLDING_ARGUMENTS = ("dataset", OVERRIDES)
_EXPONENT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+")
# Hydra adds a key with +, and adds or replaces one with ++.
_PATH = re.compile(r"\+{0,2}[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True)
class RecipeFile:
    """The values in a file, and the ``training_overrides`` for Bridge, by path."""

    values: Values
    arguments: Values


def read_recipe(text: str, source: str, findings: Findings) -> RecipeFile | None:
    """Return the content of a file; None, and a fault, if it is not a YAML object. ``source`` is the file's name."""
    read = read_yaml(text, source, findings)
    # Bridge resolves ${…} itself: it knows more keys.
    return None if read is None else RecipeFile(as_json(OmegaConf.to_container(read.config)), {})


def with_overrides(config: RecipeFile, overrides: Mapping[str, t.Any], findings: Findings) -> RecipeFile:
    """Return a config with other values, and report those that do not fit."""
    values, others = config.values, Values()
    for path, value in within_depth(overrides, findings):
        keys = path.split(".")
        holds_arguments = keys[0] in _HOLDING_ARGUMENTS and (len(keys) > 1 or isinstance(value, dict))
        if keys[0] in RecipeConfig.model_fields and not holds_arguments:
            values = _with_value(values, keys, value)
        else:
            others[path] = value
    return replace(config, values=values, arguments=flattened(others, _PATH, findings, nested_lists=True))


def _with_value(values: t.Any, path: list[str], value: t.Any) -> Values:
    held = values if isinstance(values, dict) else {}
    name, *below = path
    return {**held, name: _with_value(held.get(name), below, value) if below else value}


def overrides_of(config: RecipeFile, findings: Findings) -> Values:
    """Return the values that replace a recipe's, each by its path as written; report invalid paths."""
    given = config.values.get(OVERRIDES)
    of_file = flattened(given, _PATH, findings, of_file=True, nested_lists=True) if isinstance(given, dict) else {}
    return {path: _typed(value) for path, value in {**of_file, **config.arguments}.items()}


def _typed(value: t.Any) -> t.Any:
    """Return a value with its numbers: PyYAML, and so Ansible, takes 1e-5 for a text."""
    if isinstance(value, list):
        return [_typed(item) for item in value]
    is_number = isinstance(value, str) and _EXPONENT.fullmatch(value) and math.isfinite(float(value))
    return float(value) if is_number else value


def run_of(config: RecipeFile) -> Values:
    """Return the section that says how to run, or an empty one."""
    given = config.values.get(RUN)
    return given if isinstance(given, dict) else {}


def mode_of(asked: str | None) -> str:
    """Return the mode of the run."""
    return "multi_node" if asked == "auto" else str(asked)


def asked_of(config: RecipeFile, mode: str | None) -> Asked:
    """Return the number of nodes and the address of rank 0 that a file names."""
    run = typed(RunConfig, run_of(config), "", Findings())
    return Asked(run.nnodes, run.master_address if mode_of(mode) == "multi_node" else None)
