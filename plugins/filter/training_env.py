# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter training_env."""

from __future__ import annotations

DOCUMENTATION = r"""
name: training_env
short_description: The environment variables that a training config means for a node
version_added: 1.0.0
author:
  - The trainops.cluster maintainers (@trainops)
description:
  - Translates a training config into the environment variables of the training on one node.
  - A plan has no secrets, so the variables name at most the file of a token.
extends_documentation_fragment:
  - trainops.cluster.config_filters
  - trainops.cluster.config_filters.node
positional: node, nodes, interface
"""

EXAMPLES = r"""
- name: Write the environment of the node for a launcher of our own
  ansible.builtin.copy:
    dest: /etc/training.env
    mode: "0644"
    content: |
      {% for name, value in of_training.items() %}
      {{ name }}={{ value | quote }}
      {% endfor %}
  vars:
    hosts: "{{ groups.all | map('extract', hostvars) }}"
    of_training: "{{ 'my.json' | trainops.cluster.training_env(inventory_hostname, hosts, interface='eth0') }}"
"""

RETURN = r"""
_value:
  description: The variables.
  type: dict
  sample: {NNODES: "2", NODE_RANK: "1", NCCL_SOCKET_IFNAME: eth0}
"""

import typing as t

from ..plugin_utils.controller_action import late_imports

if t.TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def training_env(
    source: t.Any, node: str | int = 0, nodes: Sequence[t.Any] | None = None, interface: str = "", **options: t.Any
) -> dict[str, str]:
    """Return the environment of a node."""
    with late_imports():
        from ..plugin_utils.config_filters import node_of, plan_of, without_auto
    return without_auto(node_of(plan_of(source, nodes, **options), node), interface)[0]


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., t.Any]]:
        """Return the filter by its name."""
        return {"training_env": training_env}
