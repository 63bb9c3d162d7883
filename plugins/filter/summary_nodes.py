# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter plugin trainops.cluster.summary_nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
name: summary_nodes
short_description: The result of each node of a run
version_added: 1.0.0
author:
  - The trainops.cluster maintainers (@trainops)
description:
  - Takes from a run's C(summary.json) what became of each node, for the facts of its host.
options:
  _input:
    description: The summary written by M(trainops.cluster.training_report).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the slowest node
  ansible.builtin.debug:
    msg: "{{ (summary | trainops.cluster.summary_nodes | sort(attribute='tokens_per_sec_per_gpu') | first).node }}"
  vars:
    summary: "{{ lookup('ansible.builtin.file', '/runs/a/summary.json') | from_json }}"
"""

RETURN = r"""
_value:
  description:
    - For each node in rank order C(node), C(run_id), C(node_rank), C(verdict) (of this node), C(run_verdict), C(state),
      C(exit_code), C(last_step), C(tokens_per_sec_per_gpu), C(step_time_ms), and C(first_failure) (whether the run
      failed because of it).
  type: list
  elements: dict
  sample:
    - {node: gpu01, node_rank: 0, verdict: PASS, run_verdict: PASS, tokens_per_sec_per_gpu: 9263.4}
"""

import typing as t
from collections.abc import Callable, Mapping

from ansible.errors import AnsibleFilterError

from ..plugin_utils.controller_action import late_imports


def summary_nodes(summary: t.Any) -> list[dict[str, t.Any]]:
    """Return the result of each node of a summary."""
    if not isinstance(summary, Mapping):
        raise AnsibleFilterError(f"a summary is a mapping, not {type(summary).__name__}")
    with late_imports():
        from ..plugin_utils.report.essence import nodes_of
    try:
        return nodes_of(t.cast("t.Any", summary))
    except KeyError as error:
        raise AnsibleFilterError(f"this is not the summary of a run: {error} is missing") from None


class FilterModule:
    """Filters of the report."""

    def filters(self) -> dict[str, Callable[..., t.Any]]:
        """Return the filters by their names."""
        return {"summary_nodes": summary_nodes}
