#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_phase
short_description: Does one phase of a training run on all of its nodes
version_added: 1.0.0
description:
  - Runs once for all hosts of the play, like C(ansible.builtin.add_host), and works on those that are nodes of the run,
    all at the same time from one process. Connection plugin, become and their variables are those of each host.
    Keywords of the task are templated with the variables of the play's first host.
  - Sends one self-contained program through the connections, in one round trip per node. The node keeps the program in
    the run's folder, so that later phases only name it.
  - The order is V(stage), V(train), and V(finish) in any case.
  - A node that cannot do its part fails the task, with what it said, once all other nodes have done theirs.
  - C(forks) of Ansible bounds how many nodes are asked at once. All nodes are followed at the same time anyway.
  - The state of the run is kept on the node, in the run's folder there.
  - The variables C(training_hf_token) and C(training_hf_token_file) give the Hugging Face token, for V(stage). They are
    no options, since options are shown.
  - The host variable C(training_node_environment) is a mapping of variables of what runs on the node itself. C($PATH)
    and the like in it are resolved there. A container has its own.
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  check_mode:
    support: partial
    details:
      - V(stage) looks for everything that would keep the run from starting and writes nothing. The other phases are not
        done.
requirements:
  - Python 3.8 or newer and bash on the node
options:
  phase:
    description:
      - V(stage) puts everything in place and reports everything that is missing.
      - V(train) starts what was staged on every node, and follows all nodes until their training ends. It keeps what
        their logs say in O(run_dir). In a multi-node run it ends when any node fails. A training that fails does not
        make the task fail; the report judges it. Where a training ends well, and its log is small, its node does with
        the same answer what V(finish) would ask for.
      - V(finish) ends what is still running of this run, and nothing else, and copies the logs to O(run_dir).
    type: str
    required: true
    choices: [stage, train, finish]
  run_dir:
    description: The run's folder on the controller, as M(trainops.cluster.training_plan) returned it.
    type: path
    required: true
  grace_seconds:
    description: How long after SIGTERM SIGKILL is sent, for V(finish), and for V(train) where a training ends well.
    type: float
    default: 3.0
  lost_timeout:
    description:
      - For how many seconds a node may not answer before it counts as unreachable, for V(train) and V(finish).
      - One that keeps its connection and says nothing, as where a file system hangs, is given five minutes more.
    type: float
    default: 60.0
  stall_timeout:
    description:
      - For how many seconds no log may grow, at most, before the training counts as hung, for V(train).
      - It is that long before the third step, and while the trainer compiles, evaluates or writes a checkpoint.
        Otherwise it is 20 times the 95th percentile of the time between two step lines, at least 60 seconds.
    type: float
    default: 1800.0
seealso:
  - module: trainops.cluster.training_plan
  - module: trainops.cluster.training_report
"""

EXAMPLES = r"""
- name: Stage the run on every node
  trainops.cluster.training_phase:
    phase: stage
    run_dir: "{{ planned.run_dir }}"

- name: Start all ranks, and follow the training
  trainops.cluster.training_phase:
    phase: train
    run_dir: "{{ planned.run_dir }}"
    stall_timeout: 600

- name: Stop what is still running, and collect the logs
  trainops.cluster.training_phase:
    phase: finish
    run_dir: "{{ planned.run_dir }}"
"""

RETURN = r"""
nodes:
  description:
    - The nodes by what is known of the training on them, V(not_started), V(staged), V(running), V(exited), V(killed),
      V(stopped), V(stalled), V(unreachable), V(bad_answer) or V(gone); their names are folded.
  returned: always, but for check mode
  type: dict
  sample: {exited: "node[0-6]", unreachable: node7}
"""
