# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter unknown_variables."""

from __future__ import annotations

DOCUMENTATION = r"""
name: unknown_variables
short_description: Reports misspelled variables of this collection
version_added: 1.0.0
author:
  - The trainops.cluster maintainers (@trainops)
description:
  - Finds variables that begin with C(training_), C(report_) or C(node_prep_) and that nothing in this collection reads.
options:
  _input:
    description: The names of hosts.
    type: list
    elements: str
    required: true
  hostvars:
    description: The variables of all hosts, by host, as in C(hostvars).
    type: dict
    required: true
positional: hostvars
"""

EXAMPLES = r"""
- name: Reject misspelled variables
  ansible.builtin.assert:
    that: misspelled | length == 0
    fail_msg: "{{ misspelled | join(' ') }}"
  vars:
    misspelled: "{{ ansible_play_hosts_all | trainops.cluster.unknown_variables(hostvars) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: For each variable, a sentence with its name and the closest known name.
  type: list
  elements: str
"""

import typing as t

from ..plugin_utils.controller_action import late_imports

if t.TYPE_CHECKING:
    from collections.abc import Callable


def unknown_variables(hosts: t.Iterable[str], hostvars: t.Mapping[str, t.Mapping[str, t.Any]]) -> list[str]:
    """Return a sentence for each variable of these hosts that nothing reads."""
    with late_imports():
        from ..plugin_utils.inventory.unknown_variables import unknown_variables as findings_of
    found = findings_of({str(host): list(hostvars[host]) for host in hosts})
    return [f"{finding['key']}: {finding['message']} {finding['remedy']}" for finding in found]


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., t.Any]]:
        """Return the filter by its name."""
        return {"unknown_variables": unknown_variables}
