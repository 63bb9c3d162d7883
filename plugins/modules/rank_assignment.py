#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rank_assignment
short_description: Gives the hosts of a play their ranks in a run
version_added: 1.0.0
description:
  - Decides which hosts take part, their order, and where they meet, exactly as M(trainops.cluster.training_plan) does.
  - Hosts keep the order of the inventory, but those in the same place of the network (C(training_topology), for example
    V(spine1/rack3)) become neighbours. Rank 0 is the first host.
  - Fails with every error, for example two hosts with the same address.
  - Runs on the controller and touches no node. Use it with C(run_once).
extends_documentation_fragment:
  - trainops.cluster.attributes
options:
  hosts:
    description: Names of the hosts.
    type: list
    elements: str
    required: true
  nodes:
    description:
      - Names of the nodes of the run, in rank order, if they are known already, for example from a plan.
      - Then O(rank_order) and O(exclude) have no effect.
    type: list
    elements: str
    default: []
  rank_order:
    description: Names of all hosts that take part, in rank order. If empty, the inventory decides.
    type: list
    elements: str
    default: []
  exclude:
    description: Names of hosts that take no part.
    type: list
    elements: str
    default: []
  spares:
    description: Group of hosts that take no part, but may replace a node that failed.
    type: str
    default: ""
seealso:
  - module: trainops.cluster.training_plan
"""

EXAMPLES = r"""
- name: Decide the ranks
  trainops.cluster.rank_assignment:
    hosts: "{{ ansible_play_hosts_all }}"
    exclude: [gpu07]
  run_once: true
  register: assigned
"""

RETURN = r"""
nodes:
  description: Names of the nodes of the run in rank order.
  returned: success
  type: list
  elements: str
  sample: [gpu01, gpu02]
hosts:
  description: Every one of O(hosts), first the nodes of the run in rank order, then the others.
  returned: success
  type: list
  elements: dict
  contains:
    node:
      description: Name of the host.
      type: str
      sample: gpu01
    part:
      description: V(node) if it takes part, V(spare) or V(idle) if it does not.
      type: str
      sample: node
    node_rank:
      description: Its rank among the nodes, null if it takes no part.
      type: int
      sample: 0
    nnodes:
      description: Number of nodes of the run, null if it takes no part.
      type: int
      sample: 2
    master_address:
      description: Rank 0's address, where the nodes meet; null if the host takes no part.
      type: str
      sample: 10.1.1.11
    topology:
      description: Place of the node in the network, empty if it is unknown.
      type: str
      sample: spine1/rack3
"""
