# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of the filters that take a training config."""

from __future__ import annotations


class ModuleDocFragment:
    """Hosts and options of the plan that a filter makes, and the node that it returns something of."""

    DOCUMENTATION = r"""
notes:
  - Further keyword arguments are the options of M(trainops.cluster.training_plan), for example C(model), C(gpu) or
    C(container_engine).
options:
  nodes:
    description:
      - Names of the hosts that take part, in inventory order, or their variables, for example
        C(groups.all | map('extract', hostvars)), from which addresses and racks are taken.
      - With names alone, ranks follow the order of the names and addresses are the names, so that both may differ from
        the ranks and addresses with P(trainops.cluster.training#role).
      - Not for a plan.
    type: list
    elements: raw
    default: [localhost]
seealso:
  - plugin: trainops.cluster.training_plan
    plugin_type: module
"""

    NODE = r"""
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
"""
