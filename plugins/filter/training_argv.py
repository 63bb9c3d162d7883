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
notes:
  - Further keyword arguments are the options of M(trainops.cluster.training_plan), for example C(model), C(gpu) or
    C(container_engine).
options:
  _input:
    description:
      - A training config as its path, its text or its data; or a plan, as
        P(trainops.cluster.training_plan#filter) returns it.
    type: raw
    required: true
  node:
    description: Rank or name of the node.
    type: raw
    default: 0
  interface:
    description: Network interface of the node, wherever the config leaves it to the node. Without it, such variables
      are left out with a warning.
    type: str
    default: ""
  nodes:
    description:
      - Names of the hosts that take part, in inventory order, or their variables, for example
        C(groups.all | map('extract', hostvars)), from which addresses and racks are taken.
      - Not for a plan.
    type: list
    elements: raw
    default: [localhost]
positional: node, nodes, interface
seealso:
  - plugin: trainops.cluster.training_plan
    plugin_type: module
"""

EXAMPLES = r"""
- name: Show the command of each node
  ansible.builtin.debug:
    msg: "{{ 'my.json' | trainops.cluster.training_argv(inventory_hostname, groups.all) | map('quote') | join(' ') }}"
"""

RETURN = r"""
_value:
  description: The words of the command.
  type: list
  elements: str
  sample: [bash, examples/llama/train_llama3.sh, MBS=4]
"""

import typing as t

from ..plugin_utils.config_filters import node_of, plan_of, without_auto

if t.TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def training_argv(
    source: t.Any, node: str | int = 0, nodes: Sequence[t.Any] | None = None, interface: str = "", **options: t.Any
) -> list[str]:
    """Return the command of a node."""
    return without_auto(node_of(plan_of(source, nodes, **options), node), interface)[1]


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., t.Any]]:
        """Return the filter by its name."""
        return {"training_argv": training_argv}
