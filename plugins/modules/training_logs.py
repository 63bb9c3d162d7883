#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_logs
short_description: Turns training logs that already exist into the folder of a run
version_added: 1.0.0
description:
  - Reads the logs of one run or of several, of which nothing else is left, and writes for each what
    M(trainops.cluster.training_phase) would have, so that M(trainops.cluster.training_report) can judge it.
  - What the logs do not say is not assumed. The exit status, and without O(config) the thresholds and the number of
    nodes, are not known unless they are given, and a run of which they are not known is at best INCONCLUSIVE.
  - Without a config O(framework=auto) finds the framework out from the logs, and O(mode=auto) takes logs of several
    nodes for one job, unless they are of Megatron-LM and more than one has steps. O(model) and O(gpu) are the names to
    report then.
  - An option that says how a training config is read may be given by a variable as well, as with
    M(trainops.cluster.training_plan).
  - Runs on the controller and touches no node.
extends_documentation_fragment:
  - trainops.cluster.attributes
  - trainops.cluster.plan_options.config
attributes:
  check_mode:
    details:
      - Can run in check mode and return the same, in a folder that Ansible removes at its end.
options:
  logs:
    description:
      - Folders with logs. A folder is one run, with a log for each node, C(NODE.log), or a sub-folder for each node.
      - Where a node has several files, the one that gets furthest in steps is read, and a warning of the run says so.
      - Where the sub-folders of a folder have sub-folders themselves, each is a run. Each of several folders is a run
        too, and so is each match of a pattern such as V(experiments/*).
      - The folder of a run of this collection is judged again where it is.
    type: list
    elements: path
    required: true
  config:
    description: Training config of the runs, with thresholds, number of nodes, steps and sizes.
    type: str
    default: ""
  nodes:
    description: How many nodes were to take part, in place of the number in the training config.
    type: int
  exit_status:
    description: The exit status with which the training ended on every node.
    type: int
  run_id:
    description: Name of the run. Without it the folder's name is taken.
    type: str
    default: ""
  output_dir:
    description: Folder on the controller that takes a folder for each run.
    type: path
    required: true
seealso:
  - module: trainops.cluster.training_report
"""

EXAMPLES = r"""
- name: Read the logs of a run
  trainops.cluster.training_logs:
    logs: [/data/logs/monday]
    output_dir: reports
    nodes: 2
    exit_status: 0
    record_only: true
  register: opened

- name: Judge the run and write its report
  trainops.cluster.training_report:
    run_dir: "{{ opened.runs[0].run_dir }}"
"""

RETURN = r"""
runs:
  description: The runs whose logs were found.
  returned: success
  type: list
  elements: dict
  contains:
    run_id:
      description: Name of the run.
      type: str
      sample: monday
    run_dir:
      description: The run's folder on the controller.
      type: str
      sample: /home/ops/reports/monday
"""
