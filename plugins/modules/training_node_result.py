#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_node_result
short_description: Fails a host on which a training run failed
version_added: 1.0.0
description:
  - Makes the host failed or unreachable in the recap and in the events of a play, for what
    M(trainops.cluster.training_phase) or M(trainops.cluster.training_report) returned as C(hosts). Both run once for
    all hosts.
  - Asks nothing of the host.
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  check_mode:
    support: full
options:
  state:
    description: What became of the host.
    type: str
    required: true
    choices: [failed, unreachable]
  reason:
    description: Why, as a sentence.
    type: str
    required: true
  cause:
    description:
      - The code of the cause, if the host is unreachable and SSH gave one, such as C(unknown_host) or C(timeout).
      - P(trainops.cluster.training_output#callback) shows hosts with the same cause in one line.
    type: str
    default: ""
seealso:
  - module: trainops.cluster.training_phase
  - module: trainops.cluster.training_report
"""

EXAMPLES = r"""
- name: Judge the run and write its report
  trainops.cluster.training_report:
    run_dir: "{{ planned.run_dir }}"
    require_nodes: false
  run_once: true
  register: judged

- name: Fail the hosts on which the run failed
  trainops.cluster.training_node_result:
    state: "{{ judged.hosts[inventory_hostname].state }}"
    reason: "{{ judged.hosts[inventory_hostname].reason }}"
    cause: "{{ judged.hosts[inventory_hostname].cause }}"
  when: inventory_hostname in judged.hosts | default({})
"""

RETURN = r"""
msg:
  description: The reason why the host is failed or unreachable.
  returned: always
  type: str
  sample: "Connection refused."
cause:
  description: The option O(cause).
  returned: always
  type: str
  sample: connection_refused
"""
