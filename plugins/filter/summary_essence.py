# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter plugin trainops.cluster.summary_essence."""

from __future__ import annotations

DOCUMENTATION = r"""
name: summary_essence
short_description: The result of a run, small enough for the artifacts of a job
version_added: 1.0.0
author:
  - The trainops.cluster maintainers (@trainops)
description:
  - Removes from a run's C(summary.json) everything that grows with its nodes and steps, for
    M(ansible.builtin.set_stats).
options:
  _input:
    description: The summary written by M(trainops.cluster.training_report).
    type: dict
    required: true
  report:
    description: Path of the report's page.
    type: str
    required: true
positional: report
"""

EXAMPLES = r"""
- name: Add the result of the run to the artifacts of the job
  ansible.builtin.set_stats:
    data:
      training_summary: "{{ summary | trainops.cluster.summary_essence(report='/runs/a/report.html') }}"
  vars:
    summary: "{{ lookup('ansible.builtin.file', '/runs/a/summary.json') | from_json }}"
"""

RETURN = r"""
_value:
  description:
    - C(run_id), C(verdict), C(headline) (the run in one sentence), C(nodes) (their number), C(reasons), C(findings)
      (the reasons with code, case, nodes and values), C(metrics), C(first_failure), C(regression) (null unless one is
      proven), C(report), and the trained model.
  type: dict
  sample:
    run_id: 20260314-092653-llama3_1_8b-mi300x
    verdict: PASS
    headline: 4 nodes × 8 MI300X trained llama3_1_8b at 9,263 tokens/s per GPU, 2.9 % above the 9,000 required
    nodes: 4
    first_failure: null
"""

import typing as t
from collections.abc import Callable, Mapping

from ansible.errors import AnsibleFilterError

from ..plugin_utils.controller_action import late_imports


def summary_essence(summary: t.Any, report: t.Any) -> dict[str, t.Any]:
    """Return the essence of a summary."""
    if not isinstance(summary, Mapping):
        raise AnsibleFilterError(f"a summary is a mapping, not {type(summary).__name__}")
    with late_imports():
        from ..plugin_utils.report.essence import essence
    try:
        return essence(t.cast("t.Any", summary), str(report))
    except KeyError as error:
        raise AnsibleFilterError(f"this is not the summary of a run: {error} is missing") from None


class FilterModule:
    """Filters of the report."""

    def filters(self) -> dict[str, Callable[..., t.Any]]:
        """Return the filters by their names."""
        return {"summary_essence": summary_essence}
