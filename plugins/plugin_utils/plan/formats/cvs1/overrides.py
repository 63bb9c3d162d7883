# SPDX-License-Identifier: GPL-3.0-or-later
"""Overriding values of a CVS config by key path."""

from __future__ import annotations

import copy
import typing as t
from collections.abc import Collection

from ....text.words import shown
from ...config.findings import Findings
from ...config.overrides import fault_no_place, within_depth
from ...job.options import ConfigOptions
from .branch import choose_branch, mode_of


def with_overrides(
    data: dict[str, t.Any], options: ConfigOptions, node_count: int, known: Collection[str], findings: Findings
) -> dict[str, t.Any]:
    """Return a config with the values of ``training_overrides``, and report those that do not fit.

    ``data`` is not changed. A path starts with ``config`` or ``model_params``, or else with a key of the run's branch
    or of the section ``config``, whose keys are ``known``: ``batch_size`` means
    ``model_params.<mode>.<model>.<gpu>.batch_size``. Missing objects on the way are created; whether the key is valid
    is checked when the config is read.
    """
    changed = copy.deepcopy(data)
    # If no branch can be chosen, planning the job reports why.
    branch = choose_branch(changed, mode_of(changed, options.training_mode, node_count), options.selection, Findings())
    of_branch = {} if branch is None else branch.values
    for path, value in within_depth(options.training_overrides, findings):
        keys = path.split(".")
        if keys[0] in ("config", "model_params"):
            _put(changed, keys, path, value, findings)
        elif keys[0] in known and keys[0] not in of_branch:
            _put(changed, ["config", *keys], path, value, findings)
        else:
            _put(of_branch, keys, path, value, findings)
    return changed


def _put(section: dict[str, t.Any], keys: list[str], path: str, value: t.Any, findings: Findings) -> None:
    for place, key in enumerate(keys[:-1]):
        inner = section.setdefault(key, {})
        if not isinstance(inner, dict):
            fault_no_place(path, value, f"{'.'.join(keys[: place + 1])} is {shown(inner)}, not an object", findings)
            return
        section = inner
    section[keys[-1]] = value
