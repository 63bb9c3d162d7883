# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter training_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: training_plan
short_description: What every node of a training config will run
version_added: 1.0.0
author:
  - The trainops.cluster maintainers (@trainops)
description:
  - Makes the plan of a training config, as the module of this name does, and touches no node.
  - Fails with every error of the config.
extends_documentation_fragment:
  - trainops.cluster.config_filters
options:
  _input:
    description: A training config as its path, its text or its data.
    type: raw
    required: true
positional: nodes
"""

EXAMPLES = r"""
- name: Show the ranks
  ansible.builtin.debug:
    msg: "{{ plan.nodes | map(attribute='node') }}"
  vars:
    plan: "{{ 'my.json' | trainops.cluster.training_plan(nodes=groups.all | map('extract', hostvars), gpu='mi300x') }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: The plan, the same as C(plan) from P(trainops.cluster.training_plan#module).
  type: dict
"""

import typing as t

from ..plugin_utils.controller_action import late_imports

if t.TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def training_plan(source: t.Any, nodes: Sequence[t.Any] | None = None, **options: t.Any) -> dict[str, t.Any]:
    """Return the plan of a training config."""
    with late_imports():
        from ..plugin_utils.config_filters import plan_of
    return t.cast("dict[str, t.Any]", plan_of(source, nodes, **options))


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., t.Any]]:
        """Return the filter by its name."""
        return {"training_plan": training_plan}
