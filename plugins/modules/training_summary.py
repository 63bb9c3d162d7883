#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_summary
short_description: Shows the summaries of training runs side by side, or the results of a query
version_added: 1.0.0
description:
  - Reads the C(summary.json) that M(trainops.cluster.training_report) wrote to the folder of each run.
  - Without O(query), prints a table with one line per run. With O(query), prints its result.
  - Runs on the controller. Use it with C(run_once).
extends_documentation_fragment:
  - trainops.cluster.attributes
options:
  run_dirs:
    description: Folders of runs on the controller.
    type: list
    elements: path
    required: true
  query:
    description:
      - JMESPath expression that is applied to the list of summaries, even if there is only one, for example
        V([].[run_id, verdict, metrics.tokens_per_sec_per_gpu.value]).
    type: str
    default: ""
  page_dir:
    description:
      - Folder to write a comparison of several runs to, C(comparison.html) and C(comparison.json).
      - If empty, or in check mode, nothing is written.
    type: path
    default: ""
seealso:
  - module: trainops.cluster.training_report
"""

EXAMPLES = r"""
- name: Show which nodes were slowest
  trainops.cluster.training_summary:
    run_dirs: [runs/20260314-092653-llama3_1_8b-mi300x]
    query: "[].metrics.step_time_ms.value_node"
  run_once: true
"""

RETURN = r"""
summaries:
  description: The summaries, in the order of O(run_dirs).
  returned: success
  type: list
  elements: dict
  sample:
    - run_id: 20260314-092653-llama3_1_8b-mi300x
      verdict: PASS
result:
  description: Result of O(query), null without one.
  returned: success
  type: raw
  sample: [node7]
"""
