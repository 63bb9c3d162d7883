#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_isolation_stop
short_description: Stops an isolation and frees its nodes
version_added: 1.0.0
description:
  - Frees the nodes of an isolation, no matter who started it or where. The isolation then finds nothing.
  - Under Slurm, cancels the job or the step that tests the nodes.
  - Fails if a node does not answer, or is no host of the play.
  - Use it with C(run_once).
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  idempotent:
    support: none
    details:
      - Every call asks the nodes.
options:
  output_dir:
    description: Folder on the controller with the isolation, C(isolation/NAME).
    type: path
    required: true
  name:
    description: Name of the isolation.
    type: str
    required: true
seealso:
  - module: trainops.cluster.training_isolate
"""

EXAMPLES = r"""
- name: Stop the isolation
  trainops.cluster.training_isolation_stop:
    output_dir: runs
    name: 20260314-092653
  run_once: true
"""

RETURN = r"""
stopped:
  description: The nodes that were freed.
  returned: always
  type: list
  elements: str
  sample: [gpu07, gpu08]
"""
