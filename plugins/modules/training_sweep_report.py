#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_sweep_report
short_description: Writes the report of a sweep
version_added: 1.0.0
description:
  - Reads the results of a sweep's cells, and writes C(sweep.json), C(sweep.csv) and C(sweep.html) to the sweep's
    folder.
  - Fails after writing the report unless every cell has passed; see O(require_pass).
  - Runs on the controller. Use it with C(run_once).
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  check_mode:
    support: none
options:
  sweep_dir:
    description: The sweep's folder on the controller.
    type: path
    required: true
  require_pass:
    description: Fail unless every cell has passed.
    type: bool
    default: true
  require_nodes:
    description:
      - With O(require_pass), fail even if each cell that did not pass failed on hosts of the play.
      - If false, such hosts are only returned as RV(hosts), for M(trainops.cluster.training_node_result).
    type: bool
    default: true
seealso:
  - module: trainops.cluster.training_plan
"""

EXAMPLES = r"""
- name: Write the report of the sweep
  trainops.cluster.training_sweep_report:
    sweep_dir: "{{ planned.sweep_dir }}"
  run_once: true
"""

RETURN = r"""
report:
  description: The page to open.
  returned: when the report has been written
  type: str
  sample: /home/ops/runs/batches/sweep.html
best:
  description: The passed cell with the most tokens per second per GPU, if any passed. A sweep of rehearsals has none.
  returned: when the report has been written
  type: str
  sample: micro_batch_size_4-precision_TE_FP8
counts:
  description: Number of cells by verdict.
  returned: when the report has been written
  type: dict
  sample: {PASS: 3, FAIL: 1}
missed:
  description: The cells that ran and did not pass.
  returned: when the report has been written
  type: list
  elements: str
  sample: [micro_batch_size_8-precision_TE_FP8]
hosts:
  description:
    - The hosts of the play where cells failed, each with its C(state), V(failed) or V(unreachable), C(reason)
      and, if SSH gave one, the code of the C(cause).
      Empty if a cell failed for a reason that lies with none of them.
  returned: when a cell has not passed and O(require_pass)
  type: dict
  sample: {node7: {state: unreachable, reason: "Of 4 cells, 1 did not pass (a). a: node7 does not answer."}}
"""
