#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_run
short_description: Finds a training run by its name
version_added: 1.0.0
description:
  - Returns what M(trainops.cluster.training_plan) returned when the run was planned, so that the run can be followed
    again, stopped or judged.
  - Runs on the controller and touches no node. Use it with C(run_once).
extends_documentation_fragment:
  - trainops.cluster.attributes
options:
  run_id:
    description: Name of the run.
    type: str
    default: ""
  output_dir:
    description: Folder that contains the run folders.
    type: path
    required: true
seealso:
  - module: trainops.cluster.training_plan
"""

EXAMPLES = r"""
- name: Find the run
  trainops.cluster.training_run:
    run_id: 20260314-092653-llama3_1_8b-mi300x
    output_dir: runs
  run_once: true
  register: found
"""

RETURN = r"""
plan:
  description: The plan of the run.
  returned: success
  type: dict
  sample:
    schema_version: 1
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
run_dir:
  description: The run's folder on the controller.
  returned: success
  type: str
  sample: /home/ops/runs/20260314-092653-llama3_1_8b-mi300x
"""
