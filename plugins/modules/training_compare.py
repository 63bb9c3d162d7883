#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_compare
short_description: Compares two training runs, or the runs of two periods
version_added: 1.0.0
description:
  - Shows what two runs measured and whether the change is real or within noise, what differs between their configs and
    between their nodes' settings, and the scaling curves that include the second run.
  - For two periods, compares the passed runs in the history, key by key.
  - Writes C(compare.html) and C(compare.json) to a folder under C(comparisons) in O(output_dir).
  - In C(compare.json), C(incomparable) and C(caveats) are findings with C(code), C(case), C(values) and C(message).
    C(incomparable) is null for runs that can be compared. Each C(test) has its C(test_code), C(test_case) and
    C(test_values).
  - Runs on the controller and touches no node.
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  check_mode:
    details:
      - In check mode, shows the same comparison but writes nothing.
options:
  names:
    description:
      - Two runs, each given by its name in O(output_dir) or by its folder, or two periods of the history.
      - A period is a month, V(2026-10), or a range of days, V(2026-10-01..2026-10-15), in UTC.
    type: list
    elements: str
    required: true
  output_dir:
    description: Folder that contains the run folders.
    type: path
    required: true
  history_dir:
    description: Folder of the history.
    type: path
    required: true
seealso:
  - module: trainops.cluster.training_report
"""

EXAMPLES = r"""
- name: Compare the runs of two months
  trainops.cluster.training_compare:
    names: [2026-09, 2026-10]
    output_dir: runs
    history_dir: runs/history
"""

RETURN = r"""
report:
  description: The page to open.
  returned: success
  type: str
  sample: /home/ops/runs/comparisons/2026-09--2026-10/compare.html
kind:
  description: Whether V(runs) or V(periods) were compared.
  returned: success
  type: str
  sample: periods
"""
