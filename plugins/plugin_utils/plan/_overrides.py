# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that take the place of a training config's own, by the paths of their keys."""

from __future__ import annotations

import copy
import typing as t

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._faults import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._words import key_path, shown
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._yaml import YamlConfig
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._branch import choose_branch, mode_of

if t.TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._options import PlanOptions


def with_overrides(
    data: t.Any, options: PlanOptions, node_count: int, known: Collection[str], findings: Findings
) -> t.Any:
    """Return a config with the values of ``training_overrides`` in it, and a fault for each that has no place there.

    ``data`` is what a framework's ``read`` returned and stays as it is. In a CVS config a path begins with
    ``config`` or ``model_params``, or else with a key of the branch that the run uses or of the section ``config``,
    whose keys are ``known``: ``batch_size`` means ``model_params.<mode>.<model>.<gpu>.batch_size``. In a YAML config
    it begins at the top. Objects on the way are made where they are missing; whether the key is a right one is for
    the reading to say.
    """
    overrides = options.training_overrides
    if not overrides:
        return data
    if isinstance(data, YamlConfig):
        return _with_yaml_overrides(data, overrides, findings)
    changed = copy.deepcopy(data)
    # That no branch can be chosen, and why, is said when the job is planned.
    branch = choose_branch(changed, mode_of(changed, options, node_count), options, Findings())
    of_branch = {} if branch is None else branch.values
    for path, value in overrides.items():
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
            _fault_no_place(path, value, f"{'.'.join(keys[: place + 1])} is {shown(inner)}, not an object", findings)
            return
        section = inner
    section[keys[-1]] = value


def _with_yaml_overrides(data: YamlConfig, overrides: Mapping[str, t.Any], findings: Findings) -> YamlConfig:
    changed = data.config.copy()
    for path, value in overrides.items():
        try:
            OmegaConf.update(changed, path, value, merge=False, force_add=True)
        except (OmegaConfBaseException, ValueError, TypeError) as error:
            _fault_no_place(path, value, str(error).strip().splitlines()[0].rstrip("."), findings)
    # The file is staged as a text; written anew it has lost its comments, and kept its interpolations.
    return YamlConfig(OmegaConf.to_yaml(changed), changed)


def _fault_no_place(path: str, value: t.Any, reason: str, findings: Findings) -> None:
    findings.fault(
        key_path("training_overrides", path),
        value,
        f"{path} cannot be set: {reason}.",
        "Name a key of the training config, with dots between the names of sections.",
    )
