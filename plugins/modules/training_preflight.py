#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_preflight
short_description: Checks whether the nodes of a plan are ready for it
version_added: 1.0.0
description:
  - Inspects all nodes at the same time as M(trainops.cluster.node_inspect) does, and compares each with the plan and
    with the other nodes.
  - Changes nothing on them. While they are inspected, an empty file of rank 0 is in the data cache, to prove that all
    nodes share the cache; not in check mode.
  - Shows a table of nodes and checks, followed by each red cell with the reason and what to do about it.
  - Fails if any cell is red, unless O(require_nodes=false).
  - Runs once for all hosts, and connects to each as Ansible does. A node's C(training_node_environment) are variables
    for the commands that run on it.
extends_documentation_fragment:
  - trainops.cluster.attributes
options:
  plan:
    description:
      - The plan returned by M(trainops.cluster.training_plan).
      - Without a plan, O(only) must list the nodes, and only checks without a training config are judged. The nodes are
        then compared with each other.
    type: dict
  container_engine:
    description:
      - The container engine that nodes should have, V(docker), V(podman), V(none) or V(auto). Used only without
        O(plan).
    type: str
    default: auto
  only:
    description:
      - Names of the nodes to judge, for example in a play with C(--limit). By default, all nodes of the plan are
        judged.
    type: list
    elements: str
  quarantine:
    description: File with the quarantined hosts. Nodes without a red row are released from it.
    type: path
  require_nodes:
    description:
      - Whether the task fails if any cell is red.
      - If false, hosts with a red cell are only returned as RV(hosts), for M(trainops.cluster.training_node_result).
    type: bool
    default: true
  run_dir:
    description: Folder of a run on the controller; nodes with a red row are marked in it as not ready for the run.
    type: path
seealso:
  - module: trainops.cluster.node_inspect
  - module: trainops.cluster.training_plan
"""

EXAMPLES = r"""
- name: Check whether the nodes are ready
  trainops.cluster.training_preflight:
    plan: "{{ planned.plan }}"

- name: Check the machines of the play without a training config
  trainops.cluster.training_preflight:
    only: "{{ ansible_play_hosts_all }}"
"""

RETURN = r"""
released:
  description: Nodes that were released from quarantine.
  returned: always
  type: list
  elements: str
  sample: []
hosts:
  description:
    - The hosts with a red cell, each with its C(state), V(failed) or V(unreachable), and C(reason).
  returned: always
  type: dict
  sample: {gpu07: {state: failed, reason: "Its preflight is red: gpus."}}
rows:
  description:
    - The cells of the table.
    - Each also has C(values), the values in its sentence by their names (C(row['values']) in Jinja). Sizes are bytes,
      and times seconds, unless the name says otherwise.
  returned: always
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
      description:
        - V(green), V(red), V(yellow) for a setting that costs speed but stops no training, or V(grey) for a check
          that cannot be judged or does not apply.
      type: str
      sample: green
    code:
      description: What the check found out, as a code that stays the same when the words change.
      type: str
      sample: numa_off
    case:
      description: Which of the sentences of its code the cell has; empty for a code that has only one.
      type: str
      sample: ""
    found:
      description: What the node has, or for a grey cell why it is not judged.
      type: str
      sample: auto-balancing off
proposals:
  description:
    - Values that fit all nodes, for keys that the training config leaves open.
  returned: always
  type: dict
  sample: {nccl_socket_ifname: ens51np0, gloo_socket_ifname: ens51np0, nccl_ib_gid_index: 3}
"""
