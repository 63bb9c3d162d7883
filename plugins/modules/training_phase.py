#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_phase
short_description: Runs one phase of a training run on all of its nodes
version_added: 1.0.0
description:
  - Runs once for all hosts of the play, like C(ansible.builtin.add_host), and handles those that are nodes of the run
    in parallel, from one process. Each host keeps its own connection plugin, become settings and their variables.
    Keywords of the task are templated with the variables of the play's first host.
  - Sends one self-contained program over the connections, in one round trip per node. The node keeps the program in the
    run's folder, so later phases only refer to it.
  - Run V(stage), then V(train), and V(finish) in any case.
  - If a node cannot do its part, the task fails with that node's error once all other nodes have done theirs.
  - Ansible's C(forks) limits how many nodes are asked at once. All nodes are still followed at the same time.
  - The state of the run is kept on the node, in the run's folder.
  - For V(stage), the variables C(training_hf_token) and C(training_hf_token_file) provide the Hugging Face token. They
    are not options because Ansible shows options.
  - The host variable C(training_node_environment) is a mapping of environment variables for what runs on the node
    itself. References such as C($PATH) are resolved there. A container has its own environment.
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  check_mode:
    support: partial
    details:
      - V(stage) checks for everything that would keep the run from starting and writes nothing. The other phases do
        nothing.
requirements:
  - Python 3.8 or newer and bash on the node
options:
  phase:
    description:
      - V(stage) puts everything in place and reports everything that is missing.
      - V(train) starts the staged run on every node and follows all nodes until their training ends. It records what
        their logs say in O(run_dir). In a multi-node run it ends when any node fails. A failed training does not fail
        the task; the report judges it. If a training ends well and its log is small, the node also does the work of
        V(finish) in the same answer.
      - V(finish) stops all processes of this run, and nothing else, and copies the logs to O(run_dir).
    type: str
    required: true
    choices: [stage, train, finish]
  run_dir:
    description: The run's folder on the controller, returned by M(trainops.cluster.training_plan).
    type: path
    required: true
  grace_seconds:
    description: Seconds between SIGTERM and SIGKILL, for V(finish), and for V(train) if a training ends well.
    type: float
    default: 3.0
  lost_timeout:
    description:
      - Seconds without an answer until a node counts as unreachable, for V(train) and V(finish).
      - A node that keeps its connection but does not answer, for example because a file system hangs, gets five more
        minutes.
    type: float
    default: 60.0
  stall_timeout:
    description:
      - Maximum seconds without log growth before the training counts as hung, for V(train).
      - This maximum applies before the third step, and while the trainer compiles, evaluates or writes a checkpoint.
        Otherwise the limit is 20 times the 95th percentile of the time between two step lines, at least 60 seconds.
    type: float
    default: 1800.0
  require_nodes:
    description:
      - Fail if a node cannot do its part.
      - If false, such nodes are only returned as RV(hosts), for M(trainops.cluster.training_node_result).
    type: bool
    default: true
seealso:
  - module: trainops.cluster.training_plan
  - module: trainops.cluster.training_report
"""

EXAMPLES = r"""
- name: Stage the run on every node
  trainops.cluster.training_phase:
    phase: stage
    run_dir: "{{ planned.run_dir }}"

- name: Start all ranks and follow the training
  trainops.cluster.training_phase:
    phase: train
    run_dir: "{{ planned.run_dir }}"
    stall_timeout: 600

- name: Stop the processes that still run and collect the logs
  trainops.cluster.training_phase:
    phase: finish
    run_dir: "{{ planned.run_dir }}"
"""

RETURN = r"""
run_dir:
  description: The run's folder on the controller.
  returned: always, unless it is left alone
  type: str
  sample: /home/ops/runs/20260314-092653-llama3_1_8b-mi300x
nodes:
  description:
    - The nodes, grouped by the known state of their training, V(not_started), V(staged), V(running), V(exited),
      V(killed), V(stopped), V(stalled), V(unreachable), V(bad_answer) or V(gone). Node names are folded.
  returned: always, except in check mode
  type: dict
  sample: {exited: "node[0-6]", unreachable: node7}
hosts:
  description:
    - The hosts that could not do their part, each with its C(state), V(failed) or V(unreachable), C(reason)
      and, if SSH gave one, the code of the C(cause).
  returned: always, except in check mode of other phases than V(stage)
  type: dict
  sample: {node7: {state: unreachable, reason: "Connection refused."}}
"""
