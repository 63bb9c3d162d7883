#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name; it runs on the controller only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_report
short_description: Judges a training run and writes its report
version_added: 1.0.0
description:
  - Judges what M(trainops.cluster.training_phase) left in the run's folder, and writes C(records.csv) (one row per
    measurement), C(summary.json), C(summary.csv) (one row for the run), C(metrics.csv) (one row per metric) and
    C(report.html) there.
  - Fails after writing the report unless the verdict is PASS; see O(require_pass).
  - Runs on the controller. Use it with C(run_once).
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  check_mode:
    support: none
options:
  run_dir:
    description: The run's folder on the controller.
    type: path
    required: true
  warmup_steps:
    description:
      - Number of steps at the start of the run to ignore on each node, or C(auto).
      - With C(auto), the warm-up ends when three consecutive steps run at the pace of the second half of the run. With
        fewer than 12 steps, the first 2 are ignored.
    type: str
    default: auto
  straggler_deviations:
    description: A node is a straggler if it is slower than the median of all nodes by more than this many median
      absolute deviations.
    type: float
    default: 5.0
  require_pass:
    description: Fail unless the verdict is PASS.
    type: bool
    default: true
  require_nodes:
    description:
      - With O(require_pass), fail even if the verdict is about hosts of the play.
      - If false, such hosts are only returned as RV(hosts), for M(trainops.cluster.training_node_result).
    type: bool
    default: true
  history_dir:
    description:
      - Folder of the history, a Parquet dataset. The run is added to it and compared with earlier runs of its kind. If
        empty, nothing is added or compared.
      - Judging a run again replaces its records in the history. A rehearsal is not added.
    type: path
    default: ""
  index:
    description:
      - Also write C(index.html) next to the run's folder, a page that lists all runs there with links to their reports.
      - If it cannot be written, a warning says so, and the verdict does not change.
    type: bool
    default: true
  host_facts:
    description:
      - Let the callback P(trainops.cluster.training_progress#callback) set the fact C(training_summary) on the host of
        each node, in no time and without a line for each.
    type: bool
    default: false
  dialects:
    description:
      - Formats of other tools to write the run in as well.
      - V(junit) is JUnit XML, C(junit.xml), for CI servers. It has no failures and no errors only if the verdict is
        PASS.
      - V(openmetrics) is C(openmetrics.prom) for the textfile collector of the Prometheus node_exporter.
    type: list
    elements: str
    choices: [junit, openmetrics]
    default: []
seealso:
  - module: trainops.cluster.training_phase
"""

EXAMPLES = r"""
- name: Judge the run and write its report
  trainops.cluster.training_report:
    run_dir: "{{ planned.run_dir }}"
  run_once: true
"""

RETURN = r"""
verdict:
  description: One of V(PASS), V(FAIL), V(INCONCLUSIVE) and V(ERROR).
  returned: when the report has been written
  type: str
  sample: PASS
reasons:
  description: Reasons for the verdict, as sentences.
  returned: when the report has been written
  type: list
  elements: str
  sample: [Both nodes took part and ended with exit status 0.]
nodes:
  description: The nodes of the run that are hosts of the play.
  returned: when the report has been written
  type: list
  elements: str
  sample: [node0, node7]
facts_set:
  description: Whether the facts of O(host_facts) are set; false without the callback, or with hosts of other plays.
  returned: when the report has been written
  type: bool
  sample: true
hosts:
  description:
    - The hosts of the play where the run failed, each with its C(state), V(failed) or V(unreachable), C(reason)
      and, if SSH gave one, the code of the C(cause).
  returned: when the verdict is not PASS and O(require_pass)
  type: dict
  sample: {node7: {state: unreachable, reason: "node7 does not answer."}}
report:
  description: The page to open.
  returned: when the report has been written
  type: str
  sample: /home/ops/runs/20260314-092653-llama3_1_8b-mi300x/report.html
"""
