#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_plan
short_description: Plans a training run, or reports every error in its config
version_added: 1.0.0
description:
  - Reads a training config and resolves it to the command of every node. Values that only a node can determine, such as
    an interface set to V(auto), are marked as such.
  - Runs on the controller and touches no node. Use it with C(run_once).
  - Fails if there is any fault, after showing all of them.
  - The host variable C(training_topology) is a node's location in the network, outermost level first (C(spine1/rack3)).
    Nodes in the same location get neighbouring ranks, unless O(rank_order) is given.
  - Options that control how a training config is read or a run is made, from O(framework) on, can also be set by a
    variable. Its name is C(training_) plus the option's name, or just the option's name for container options. The role
    C(training) and its playbooks set options this way. A task option takes precedence over the variable.
  - A value of the wrong type is a fault of the plan, not a task error. An empty string counts as not given.
  - The variable C(training_hf_token) provides the Hugging Face token in place of the config's C(hf_token_file). It is
    not an option because Ansible shows options.
  - With O(sweep), plans all cells of a sweep, each a run with its own values in place of the config's, and reports
    which cells will run, which are resumed, and which have already run under this O(sweep_id).
extends_documentation_fragment:
  - trainops.cluster.attributes
  - trainops.cluster.plan_options
  - trainops.cluster.plan_options.config
attributes:
  check_mode:
    details:
      - In check mode, returns the same plan but does not create the run's folder.
options:
  config:
    description: Training config, relative to the current folder or the playbook.
    type: str
    default: ""
  hosts:
    description: Hosts of the run in inventory order.
    type: list
    elements: str
    required: true
  output_dir:
    description: Folder to create the run's folder in, with the plan in it. If omitted, nothing is written.
    type: path
  sweep:
    description: Plan a sweep. Its folder is created in O(output_dir), next to the folders of its runs.
    type: bool
    default: false
  sweep_id:
    description: Name of the sweep. Use the same name to resume it. By default, the name is made from the time.
    type: str
    default: ""
  matrix:
    description:
      - Keys of the config with lists of values. Each combination is a cell. The key C(exclude) lists cells, or parts of
        cells, to leave out.
      - If omitted, the cells come from the sweep blocks of a CVS config.
    type: dict
    default: {}
  quarantine:
    description:
      - File with the quarantined hosts, by inventory. They are left out or replaced by a spare (O(spares)), and the
        plan warns about each. The file does not have to exist.
      - The file is rejected if anyone other than the user and root can write to it.
    type: path
  with_quarantined:
    description: Include quarantined hosts in the plan, and show the plan in short, like their preflight.
    type: bool
    default: false
  retry_of:
    description:
      - Folder of a run that did not pass. Plans the next attempt, up to O(retries), without the node at fault, and puts
        that node in O(quarantine).
      - Fails if no node was at fault, for example after a fault of the config or the model; see O(require_retry).
    type: path
  require_retry:
    description: With O(retry_of), fail if the run is not retried. If false, RV(not_retried) says why.
    type: bool
    default: true
  adopt:
    description:
      - Take up the run of this name and plan from the nodes, if the run's folder on the controller is lost.
        Nothing is staged or started then.
    type: bool
    default: false
  plan_file:
    description: File to write the plan to as JSON, including any faults.
    type: path
"""

EXAMPLES = r"""
- name: Plan a run on four nodes
  trainops.cluster.training_plan:
    config: examples/megatron/mi3xx_megatron_llama_distributed.json
    model: llama3_1_8b
    gpu: mi300x
    hosts: "{{ ansible_play_hosts_all }}"
    plan_file: plan.json
  run_once: true
  register: planned

- name: Plan three runs that differ in their micro batch size
  trainops.cluster.training_plan:
    config: examples/megatron/mi3xx_megatron_llama_distributed.json
    model: llama3_1_8b
    gpu: mi300x
    hosts: "{{ ansible_play_hosts_all }}"
    sweep: true
    matrix:
      micro_batch_size: [1, 2, 4]
    output_dir: runs
  run_once: true
  register: swept
"""

RETURN = r"""
plan:
  description:
    - The plan, with C(schema_version), C(framework), C(mode), C(model), C(gpu), C(run_id), C(parameters), C(expected)
      (thresholds with C(metric), C(kind) and C(value)), C(warnings), C(notes), and C(nodes) in rank order.
    - Each node has C(node), C(node_rank), C(image), C(env), C(argv), C(mounts), C(devices), C(container_options),
      C(working_dir), C(run_folder) and C(log_file).
  returned: success
  type: dict
  sample:
    schema_version: 1
    framework: megatron
    mode: multi_node
    faults: []
nodes:
  description: Names of the nodes in rank order.
  returned: success
  type: list
  elements: str
  sample: [node0, node1]
run_id:
  description: Name of the run.
  returned: success
  type: str
  sample: 20260314-092653-llama3_1_8b-mi300x
not_retried:
  description: Why the run is not retried, as a sentence.
  returned: when it is not, O(retry_of) is given and O(require_retry) is false
  type: str
  sample: "Run nightly is not retried: training_retries is 1."
quarantine:
  description: The quarantine file, as given.
  returned: success
  type: str
  sample: runs/quarantine.json
run_dir:
  description: The run's folder on the controller, or null without O(output_dir).
  returned: success
  type: str
  sample: /home/ops/runs/20260314-092653-llama3_1_8b-mi300x
cells:
  description: The cells of the sweep, each with C(name), C(values), C(run_id) and C(state).
  returned: success and O(sweep)
  type: list
  elements: dict
  sample:
    - name: micro_batch_size_1
      values: {micro_batch_size: 1}
      run_id: batches-micro_batch_size_1
      state: new
to_run:
  description: The cells that have not run yet.
  returned: success and O(sweep)
  type: list
  elements: dict
  sample: []
sweep_dir:
  description: The sweep's folder on the controller.
  returned: success and O(sweep)
  type: str
  sample: /home/ops/runs/batches
sweep_id:
  description: Name of the sweep.
  returned: success and O(sweep)
  type: str
  sample: batches
"""
