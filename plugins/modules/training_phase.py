#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_phase
short_description: Does one phase of a training run on a node
version_added: 1.0.0
author:
  - The trainops.cluster maintainers (@trainops)
description:
  - Sends one self-contained program through the task's own connection, so that a phase is one round trip per node.
  - The order is V(stage) on all nodes, V(start) on all nodes, V(follow), and in any case V(stop) and V(collect).
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
  diff_mode:
    support: none
  idempotent:
    support: full
requirements:
  - Python 3.8 or newer and bash on the node
options:
  phase:
    description:
      - V(stage) puts everything in place and tells all that is missing.
      - V(start) starts what was staged.
      - V(follow) waits until the training ends, and keeps what its log tells in O(run_dir). In a multi-node run it ends
        when any node fails. A training that fails does not make the task fail; the report judges it.
      - V(stop) ends what is still running of this run, and nothing else.
      - V(collect) copies the log to O(run_dir).
    type: str
    required: true
    choices: [stage, start, follow, stop, collect]
  run_dir:
    description: The run's folder on the controller, as M(trainops.cluster.training_plan) returned it.
    type: path
    required: true
  grace_seconds:
    description: How long after SIGTERM SIGKILL is sent, for V(stop).
    type: float
    default: 3.0
  lost_timeout:
    description: For how many seconds a node may not answer before it counts as unreachable, for V(follow).
    type: float
    default: 60.0
  stall_timeout:
    description: For how many seconds a log may not grow before its training counts as hung, for V(follow).
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

- name: Start all ranks
  trainops.cluster.training_phase:
    phase: start
    run_dir: "{{ planned.run_dir }}"

- name: Follow the training
  trainops.cluster.training_phase:
    phase: follow
    run_dir: "{{ planned.run_dir }}"
    stall_timeout: 600
"""

RETURN = r"""
status:
  description:
    - What is known of the training on the node, one of V(not_started), V(staged), V(running), V(exited), V(killed),
      V(stopped), V(stalled) and V(unreachable).
  returned: all phases but V(collect)
  type: str
  sample: exited
exit_status:
  description: Exit status of the training, null while there is none.
  returned: V(follow)
  type: int
  sample: 0
last_step:
  description: Last step that the node's log tells of.
  returned: V(follow), when there is one
  type: int
  sample: 30
log:
  description: Where the copy of the log is on the controller.
  returned: V(collect)
  type: str
  sample: /home/ops/runs/20260314-092653-llama3_1_8b-mi300x/nodes/node0/train.log
"""
