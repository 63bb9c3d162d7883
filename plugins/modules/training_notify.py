#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_notify
short_description: Notifies people of a training run's verdict
version_added: 1.0.0
description:
  - Sends the verdict, the first failure and the location of the report to a webhook, to Slack or by mail.
  - Never fails. A notification that cannot be sent is reported on the terminal and in RV(not_sent).
  - Runs on the controller. Use it with C(run_once), and with C(delegate_to=localhost) and C(no_log).
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  check_mode:
    support: none
  idempotent:
    support: none
options:
  run_dir:
    description: The run's folder on the controller.
    type: path
    required: true
  problem:
    description: Why there is no report, if M(trainops.cluster.training_report) could not write one.
    type: str
    default: ""
  runs_url:
    description: URL where the folder of all runs is served, used to link to the report.
    type: str
    default: ""
  webhook:
    description:
      - URL to POST a JSON object to, with C(text) (the message), C(run_id), C(verdict), C(reasons),
        C(findings) (the reasons with code, case, nodes and values), C(first_failure), C(metrics), C(report) (path),
        C(report_url) and more from C(summary.json).
    type: str
    default: ""
  webhook_headers:
    description: HTTP headers of that request, for example C(Authorization).
    type: dict
    default: {}
  slack:
    description: Arguments of P(community.general.slack#module) without C(msg), for example C(token) and C(channel).
    type: dict
    default: {}
  mail:
    description: Arguments of P(community.general.mail#module), for example C(host) and C(to).
    type: dict
    default: {}
seealso:
  - module: trainops.cluster.training_report
"""

EXAMPLES = r"""
- name: Notify the team
  trainops.cluster.training_notify:
    run_dir: runs/20260314-092653-llama3_1_8b-mi300x
    webhook: https://chat.example.org/hooks/cluster
  delegate_to: localhost
  run_once: true
  no_log: true
"""

RETURN = r"""
sent:
  description: Channels that sent the notification.
  returned: success
  type: list
  elements: str
  sample: [webhook]
not_sent:
  description: Channels that could not send it, each with the reason.
  returned: success
  type: dict
  sample:
    mail: Connection refused
"""
