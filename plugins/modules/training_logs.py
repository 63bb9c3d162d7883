#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_logs
short_description: Turns existing training logs into a run folder
version_added: 1.0.0
description:
  - Reads the logs of one or more runs of which nothing else is left, and writes for each run what
    M(trainops.cluster.training_phase) would have written, so that M(trainops.cluster.training_report) can judge it.
  - Assumes nothing that the logs do not say. The exit status, and without O(config) also the thresholds and the number
    of nodes, are unknown unless given. Without them, a run is at best INCONCLUSIVE.
  - Without a config, O(framework=auto) detects the framework from the logs, and O(mode=auto) treats logs of several
    nodes as one job, unless they are from Megatron-LM and more than one of them has steps. O(model) and O(gpu) are then
    the names to report.
  - An option that controls how a training config is read can also be set by a variable, as with
    M(trainops.cluster.training_plan).
  - Runs on the controller and touches no node.
extends_documentation_fragment:
  - trainops.cluster.attributes
  - trainops.cluster.plan_options.config
attributes:
  check_mode:
    details:
      - In check mode, returns the same from a folder that Ansible removes when it exits.
options:
  logs:
    description:
      - Folders with logs. A folder is one run, with one log per node, C(NODE.log), or one sub-folder per node.
      - If a node has several files, the one that reaches the highest step is read, and the run has a warning about it.
      - A log may be compressed (C(.gz), C(.bz2), C(.xz), and C(.zst) with Python 3.14), and rotated into several files
        (C(train.log.1), C(train.log-20261126.gz)). What a launcher or a collector puts in front of each line is taken
        off. A file with the lines of all nodes is split by it, if it names the node, pod or task, as with C(srun
        --label), C(kubectl logs --prefix), C(pdsh) and C(docker compose).
      - Logs of different frameworks in one folder are different runs.
      - Of several runs, each gets a verdict. A run without a step, or whose logs cannot be read, is at best
        INCONCLUSIVE.
      - If the sub-folders of a folder have sub-folders themselves, each is a run. If several folders are given, each is
        a run, and so is each match of a pattern such as V(experiments/*).
      - A run folder of this collection is judged again in place.
    type: list
    elements: path
    required: true
  config:
    description: Training config of the runs, with thresholds, number of nodes, steps and sizes.
    type: str
    default: ""
  nodes:
    description: Number of nodes that were meant to take part, in place of the number in the training config.
    type: int
  exit_status:
    description: Exit status of the training on every node.
    type: int
  steps_expected:
    description:
      - Number of steps that the training was to reach, in place of the number in the logs. NxDT's logs have none, and
        others have the number that was configured, even if the training was to end before.
      - A training config says it; one that says another number is refused.
    type: int
  run_id:
    description: Name of the run. By default, the name of the folder.
    type: str
    default: ""
  output_dir:
    description: Folder on the controller for the runs' own folders.
    type: path
    required: true
seealso:
  - module: trainops.cluster.training_report
"""

EXAMPLES = r"""
- name: Read a run's logs
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
refused:
  description: Why runs were not judged, a sentence each, while others were.
  returned: success
  type: list
  elements: str
  sample: [tuesday was not judged; reports/tuesday contains a run that was started here.]
"""
