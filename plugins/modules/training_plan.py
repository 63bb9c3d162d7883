#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_plan
short_description: Makes the plan of a training run, or reports every error in its config
version_added: 1.0.0
description:
  - Reads a training config and resolves it to what every node will run. What only a node can decide, such as an
    interface that is V(auto), is named as such.
  - Runs on the controller and touches no node. Use it with C(run_once).
  - With any fault it fails, after it has shown all of them.
  - The host variable C(training_topology) says where a node stands in the network, from the outermost on
    (C(spine1/rack3)). Nodes of one place get neighbouring ranks, unless O(rank_order) is given.
  - An option that says how a training config is read or a run is made, from O(framework) on, may be given by a variable
    as well, C(training_) and its name, or just its name for those of containers. That is how the role C(training) and
    its playbooks give them; an option of the task goes before the variable.
  - Values of another type are no error of the task but faults of the plan, and an empty text is as if not given.
  - The variable C(training_hf_token) gives the Hugging Face token in place of the config's C(hf_token_file). It is no
    option, since options are shown.
  - With O(sweep) it makes the plans of all cells of a sweep, a run with other values in the place of the config's own
    each, and says which of them will run, which are resumed, and which have run already under this O(sweep_id).
extends_documentation_fragment:
  - trainops.cluster.attributes
  - trainops.cluster.plan_options
  - trainops.cluster.plan_options.config
attributes:
  check_mode:
    details:
      - Can run in check mode and return the same plan; the run's folder is not made then.
options:
  config:
    description: Training config, relative to the current folder or to the playbook.
    type: str
    default: ""
  hosts:
    description: Hosts of the run in inventory order.
    type: list
    elements: str
    required: true
  output_dir:
    description: Folder in which a folder for the run is made, with the plan in it. Without it nothing is written.
    type: path
  sweep:
    description: Plan a sweep, whose folder is made in O(output_dir) beside those of its runs.
    type: bool
    default: false
  sweep_id:
    description: Name of the sweep. The same name goes on with it. Without it, the time makes one.
    type: str
    default: ""
  matrix:
    description:
      - Keys of the config with lists of values; each combination is a cell. The key C(exclude) lists cells, or parts of
        them, that are left out.
      - Without it the cells are those of the sweep blocks of a CVS config.
    type: dict
    default: {}
  quarantine:
    description:
      - File with the hosts that are kept out of runs, by inventory. They are left out, or a spare takes their place
        (O(spares)), and the plan warns of each. The file need not be there.
      - It is refused where others than the user and root can write it.
    type: path
  with_quarantined:
    description: Plan with the hosts in quarantine, too, as their preflight does.
    type: bool
    default: false
  retry_of:
    description:
      - Folder of a run that did not pass. Makes the plan of the next attempt at it, O(retries) at most, without the
        node that was at fault, and puts that node into O(quarantine).
      - Fails where no node was at fault, as after a fault of the config or of the model.
    type: path
  plan_file:
    description: File to write the plan to as JSON, with its faults if there are any.
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
quarantine:
  description: The file with the hosts that are kept out of runs, as given.
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
  description: Those of them that have not run yet.
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
