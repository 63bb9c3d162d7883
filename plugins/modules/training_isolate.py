#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_isolate
short_description: Tests nodes and the links between them, and names those that are slow or broken
version_added: 1.0.0
description:
  - Runs once for all hosts of the play and tests those that are not training.
  - Tests every node by itself, then pairs of nodes in rounds, with a different partner for each node every time,
    then groups, if the budget has room for them. Suspects are tested again, together with nodes that proved good.
  - Compares nodes with each other, not with a fixed limit. Of 100 isolations of healthy nodes at most one accuses any
    node. What goes one way is measured both ways, and the slow way is named.
  - Holds the nodes as a run does, so no training starts on them meanwhile.
  - Where trainings go by Slurm (variable C(training_launcher)), tests nodes of Slurm, in a step that has an allocation
    of its own, or is in one that there is.
  - Writes C(plan.json), C(isolation.json), C(report.html), C(passing_nodes.txt), C(failing_nodes.txt) and
    C(slurm_exclude.txt) to a folder of its own in O(output_dir).
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  check_mode:
    details:
      - In check mode, shows the tests with the minutes and node-minutes that they take, and touches no node.
  idempotent:
    support: none
    details:
      - Every call tests the nodes.
requirements:
  - Python 3.8 or newer and bash on the node
options:
  output_dir:
    description: Folder on the controller for the isolation's own folder, C(isolation/NAME).
    type: path
    required: true
  name:
    description: Name of the isolation. By default, its time.
    type: str
    default: ""
  run_id:
    description:
      - Run in O(output_dir) whose nodes are tested. Nodes that it made suspect, because they were slow or failed, are
        tested again in any case, and the report says whether the suspicion is confirmed.
      - By default, all hosts of the play are tested.
    type: str
    default: ""
  budget:
    description: Maximum minutes for all tests, up to 1440. Fewer minutes mean fewer rounds of pairs, but at least 3.
    type: float
    default: 10.0
  rounds:
    description: Rounds of pairs. With V(0), up to 7 for 16 nodes or fewer, 5 for 32, and 3 for 64 or more.
    type: int
    default: 0
  least_effect:
    description:
      - A bad node or link is slower than the last good one by at least this many percent, from 0 to less than 1000.
      - Nodes differ when all is well, and one of them is the last. A node that is nearer to the others than this is
        good, and the report says that it is the last.
    type: float
    default: 3.0
  probes:
    description:
      - Names of the probes to run.
      - The probes are V(cpu), V(memory), V(disk), V(fio), V(tcp), V(torch), V(nccl_tests), V(torch_node), V(dcgm),
        V(rvs), V(agfhc), V(ib_write_bw), V(ib_loopback), V(torch_pairs), V(nccl_tests_pairs), V(torch_groups) and
        V(tcp_groups).
      - Without any, V(cpu), V(memory), V(tcp), and all others that every node can run and O(budget) allows.
      - By default V(torch_node) runs only where V(nccl_tests) does not.
      - Groups are tested from 8 nodes on, with V(tcp_groups) only where V(torch_groups) is not done.
      - By default, it leaves out V(disk) and V(fio), because others may use the disk; V(dcgm), because it fails for
        settings, too; V(rvs) and V(agfhc), because a test takes minutes; V(ib_loopback), because ib_write_bw tests the
        same adapters; V(nccl_tests_pairs), because it needs SSH between the nodes.
      - It is an error if no node can do a probe that is named. Nodes that cannot are not tested.
    type: list
    elements: str
    default: []
  config:
    description:
      - Training config. Programs run in the image of its training then, with its devices, mounts and environment;
        without it, on the node itself. The variables C(training_*) of hosts count as for a training.
    type: path
  port:
    description:
      - Port where a node waits for its partner. Nodes with the same address use the ports after it.
      - Each RDMA adapter uses two more, 64 ports further each time.
    type: int
    default: 29700
  node_dir:
    description: Folder on the nodes for the files of the isolation.
    type: path
    default: /var/tmp/trainops
  slurm_nodes:
    description:
      - Nodes of Slurm to test, as a hostlist such as V(gpu[01-16]), where the variable C(training_launcher) of hosts is
        V(slurm) or V(srun).
      - By default, the nodes of the run, or all nodes of the partition, of the reservation or of the allocation in the
        variables C(training_slurm_*); of these, C(training_slurm_nodes), if not 0, idle ones first.
    type: str
    default: ""
  slurm_wait:
    description: Minutes that an allocation may wait for its nodes.
    type: float
    default: 30.0
  quarantine_days:
    description:
      - Days in quarantine for nodes that are to be left out, C(quarantine.json) in O(output_dir), if not
        V(0), and at most 36500. Plans leave them out or replace them by a spare. An isolation that finds them good by
        the same probes releases them. A rehearsal changes nothing there.
    type: float
    default: 0.0
  rehearsal:
    description:
      - C(cpu), C(memory), C(tcp) and C(tcp_groups) state times instead of measuring; nodes can share a machine.
      - The host variable C(isolate_rehearsal_slowdown), for example 1.3, makes a node slower by that factor.
    type: bool
    default: false
  rehearsal_bad_links:
    description: Links that a rehearsal makes 1.5 times as slow, each as two names of hosts with a comma between them.
    type: list
    elements: str
    default: []
seealso:
  - module: trainops.cluster.training_isolation_stop
  - module: trainops.cluster.training_quarantine
  - module: trainops.cluster.training_node_result
"""

EXAMPLES = r"""
- name: Name the slow node
  trainops.cluster.training_isolate:
    output_dir: runs
    budget: 5
  run_once: true
  register: isolated

- name: Show it
  ansible.builtin.debug:
    msg: "{{ isolated.suspects | map(attribute='evidence') }}"
  run_once: true
"""

RETURN = r"""
suspects:
  description:
    - Nodes and links that are slow or broken, the worst first. C(other) is the other end of a link, null for a node.
      C(slower_by) is a fraction of the usual time and C(interval) its bounds with a confidence of 95 %, both null for
      what is broken.
  returned: except in check mode
  type: list
  elements: dict
  sample:
    - node: gpu07
      other: null
      part: cpu
      probe: cpu
      verdict: slow
      slower_by: 0.302
      interval: [0.298, 0.309]
      evidence: >-
        cpu takes 1.3 times as long as usual, and 1.31 times when tested again against proven nodes, which is beyond the
        noise and 29.0 % longer than the last good one
      values: {probe: cpu, times: 1.302, times_again: 1.31, deviations: 20.2, needed: 4.1, beyond: 0.29}
name:
  description: The name of the isolation.
  returned: except in check mode
  type: str
  sample: 20260314-092653
hosts:
  description:
    - The hosts that are suspected or could not be tested, each with its C(state), V(failed) or V(unreachable),
      C(reason) and C(cause), for M(trainops.cluster.training_node_result).
  returned: except in check mode
  type: dict
  sample: {gpu07: {state: failed, reason: "gpu07 is slow: cpu takes 1.3 times as long as usual."}}
report:
  description: The page to open.
  returned: except in check mode
  type: str
  sample: /home/ops/runs/isolation/20260314-092653/report.html
tests:
  description: The tests, with the C(seconds) and C(node_minutes) that they take at most.
  returned: always
  type: dict
  sample: {links: 1.0, seconds: {sweep: 101, confirmation: 41}, node_minutes: {sweep: 13.5, confirmation: 1.4}}
"""
