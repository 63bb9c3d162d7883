#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_quarantine
short_description: Keeps the nodes that an isolation found to be bad out of runs
version_added: 1.0.0
description:
  - Puts the nodes to leave out into quarantine, C(quarantine.json) in O(output_dir), in the inventory of this call.
    Plans leave them out or replace them by a spare.
  - An isolation that finds such a node good by the same probes releases it before that.
  - After a rehearsal nothing is changed.
  - Runs on the controller. Use it with C(run_once).
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  idempotent:
    support: none
    details:
      - The days count from the last call.
options:
  output_dir:
    description: Folder on the controller with the isolation, C(isolation/NAME).
    type: path
    required: true
  name:
    description: Name of the isolation.
    type: str
    required: true
  days:
    description: Days to leave the nodes out, at most 36500.
    type: float
    required: true
seealso:
  - module: trainops.cluster.training_isolate
"""

EXAMPLES = r"""
- name: Leave out the bad nodes for a week
  trainops.cluster.training_quarantine:
    output_dir: runs
    name: 20260314-092653
    days: 7
  run_once: true
"""

RETURN = r"""
quarantined:
  description: The nodes that are left out from now on.
  returned: always
  type: list
  elements: str
  sample: [gpu07]
"""
