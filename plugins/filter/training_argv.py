# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter training_argv."""

from __future__ import annotations

DOCUMENTATION = r"""
name: training_argv
short_description: The command that a training config means for a node
version_added: 1.0.0
author:
  - The trainops.cluster maintainers (@trainops)
description:
  - Translates a training config into the command of the training on one node, as a list of words.
extends_documentation_fragment:
  - trainops.cluster.config_filters
  - trainops.cluster.config_filters.node
positional: node, nodes, interface
"""

EXAMPLES = r"""
- name: Show the command of each node
  ansible.builtin.debug:
    msg: "{{ 'my.json' | trainops.cluster.training_argv(inventory_hostname, hosts) | map('quote') | join(' ') }}"
  vars:
    hosts: "{{ groups.all | map('extract', hostvars) }}"
"""

RETURN = r"""
_value:
  description: The words of the command.
  type: list
  elements: str
  sample: [bash, examples/llama/train_llama3.sh, MBS=4]
"""

import typing as t

from ..plugin_utils.controller_action import late_imports

if t.TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def training_argv(
    source: t.Any, node: str | int = 0, nodes: Sequence[t.Any] | None = None, interface: str = "", **options: t.Any
) -> list[str]:
    """Return the command of a node."""
    with late_imports():
        from ..plugin_utils.config_filters import node_of, plan_of, without_auto
    return without_auto(node_of(plan_of(source, nodes, **options), node), interface)[1]


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., t.Any]]:
        """Return the filter by its name."""
        return {"training_argv": training_argv}
