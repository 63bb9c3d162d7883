#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_preflight
short_description: Judges whether the nodes of a plan are ready for it
version_added: 1.0.0
description:
  - Compares what M(trainops.cluster.node_inspect) returned for each node with the plan and with other nodes.
  - Shows one table of nodes and checks, and below it each red cell with the reason and what to do about it.
  - Fails if any cell is red. Runs on the controller and touches no node. Use it with C(run_once).
extends_documentation_fragment:
  - trainops.cluster.attributes
options:
  plan:
    description:
      - The plan, as M(trainops.cluster.training_plan) returned it.
      - Without it O(only) has to name the nodes, and only what needs no training config is judged. Nodes are held
        against each other then.
    type: dict
  container_engine:
    description:
      - The container engine that nodes should have, V(docker), V(podman), V(none) or V(auto). Used without O(plan).
    type: str
    default: auto
  nodes:
    description:
      - What M(trainops.cluster.node_inspect) returned as C(node), by the name of the node.
      - A node of the plan that is missing here counts as not reached, which is red.
    type: dict
    required: true
  probe:
    description:
      - A file that rank 0 has just left in the data cache, and which the other nodes were asked for. It proves that
        they have the cache in common.
    type: str
    default: ""
  problems:
    description: Why nodes could not be inspected, by the name of the node; empty where one was.
    type: dict
    default: {}
  only:
    description:
      - Names of the nodes to judge, as where a play is limited to some. Without it all nodes of the plan are judged.
    type: list
    elements: str
  quarantine:
    description: File with the hosts that are kept out of runs. Nodes without a red row are taken out of it.
    type: path
  run_dir:
    description: Folder of a run on the controller, where nodes with a red row are noted as not ready for it.
    type: path
seealso:
  - module: trainops.cluster.node_inspect
  - module: trainops.cluster.training_plan
  - plugin: trainops.cluster.preflight_needs
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Look at the node
  trainops.cluster.node_inspect:
    paths: "{{ needs.paths }}"
    master_address: "{{ needs.master_address }}"
    master_port: "{{ needs.master_port }}"
    image: "{{ needs.image or omit }}"
  vars:
    needs: "{{ planned.plan | trainops.cluster.preflight_needs(inventory_hostname) }}"
  register: inspected

- name: Check whether the nodes are ready
  trainops.cluster.training_preflight:
    plan: "{{ planned.plan }}"
    nodes: "{{ dict(ansible_play_hosts | zip(ansible_play_hosts | map('extract', hostvars, ['inspected', 'node']))) }}"
  run_once: true
"""

RETURN = r"""
released:
  description: Nodes that were taken out of quarantine.
  returned: success
  type: list
  elements: str
  sample: []
rows:
  description:
    - The cells of the table. None of them is red, as the task fails then.
  returned: success
  type: list
  elements: dict
  contains:
    node:
      description: Name of the node.
      type: str
      sample: gpu01
    check:
      description: Name of the check.
      type: str
      sample: numa
    status:
      description: V(green), or V(grey) for what could not be judged or need not be.
      type: str
      sample: green
    found:
      description: What the node has, and of a grey cell why it is not judged.
      type: str
      sample: auto-balancing off
proposals:
  description:
    - Values that fit all nodes, for keys of the training config that it leaves out.
  returned: success
  type: dict
  sample: {nccl_socket_ifname: ens51np0, gloo_socket_ifname: ens51np0, nccl_ib_gid_index: 3}
"""
