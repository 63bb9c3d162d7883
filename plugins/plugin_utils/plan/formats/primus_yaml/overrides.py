# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of ``training_overrides`` in an experiment of Primus.

A key of the backend becomes an argument of primus-cli (``--train_iters 50``), which goes before the file. Any other
path is one in the file, which is then written again.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import replace

from ...config.findings import Findings
from ...config.overrides import fault_no_place, within_depth
from .experiment import Experiment
from .reading import PrimusFile, Values, as_yaml, merged, value_at

_KEY = re.compile(r"[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*")


def with_overrides(config: PrimusFile, overrides: Mapping[str, t.Any], findings: Findings) -> PrimusFile:
    """Return an experiment with other values, and report those that do not fit."""
    prefix = f"modules.{config.module}.overrides."
    values, arguments = config.values, dict(config.arguments)
    for path, value in within_depth(overrides, findings):
        key = path.removeprefix(prefix)
        if not _KEY.fullmatch(key):
            fault_no_place(path, value, "it is not names with dots between them", findings)
        elif key.split(".")[0] in Experiment.model_fields:
            changed = merged(values, _nested(key, value))
            if isinstance(value_at(changed, f"modules.{config.module}"), dict):
                values = changed
            else:
                fault_no_place(path, value, f"it is in place of modules.{config.module}, which is run", findings)
        else:
            arguments[key] = value
    text = config.text if values is config.values else as_yaml(values)
    return replace(config, text=text, values=values, arguments=arguments)


def _nested(path: str, value: t.Any) -> Values:
    """Return an object with nothing but a value at a path."""
    for name in reversed(path.split(".")):
        value = {name: value}
    return t.cast("Values", value)


def overrides_of(module: Mapping[str, t.Any], arguments: Mapping[str, t.Any]) -> Values:
    """Return an experiment's overrides of a module, with the arguments that replace them."""
    given = module.get("overrides")
    result: Values = given if isinstance(given, dict) else {}
    for key, value in arguments.items():
        result = merged(result, _nested(key, value))
    return result
