# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter preflight_needs."""

from __future__ import annotations

DOCUMENTATION = r"""
name: preflight_needs
short_description: What a preflight must inspect on a node of a plan
version_added: 1.0.0
author:
  - The trainops.cluster maintainers (@trainops)
description:
  - Returns the options of the module P(trainops.cluster.node_inspect#module) for a node of a plan.
options:
  _input:
    description:
      - The plan returned by P(trainops.cluster.training_plan#module); C(none) without a training config.
    type: dict
    required: true
  node:
    description: Name of the node.
    type: str
    required: true
positional: node
"""

EXAMPLES = r"""
- name: Inspect the parts of the node that the plan needs
  trainops.cluster.node_inspect:
    paths: "{{ needs.paths }}"
    image: "{{ needs.image or omit }}"
  vars:
    needs: "{{ planned.plan | trainops.cluster.preflight_needs(inventory_hostname) }}"
"""

RETURN = r"""
_value:
  description:
    - C(paths), C(master_address), C(master_port) and C(image), for the options of the same names.
    - C(cache_folder), the folder on the node that the training sees as DATA_CACHE_PATH, null if there is none.
  type: dict
"""

import typing as t

from ansible.errors import AnsibleFilterError

if t.TYPE_CHECKING:
    from collections.abc import Callable


def preflight_needs(plan: t.Any, node: t.Any) -> dict[str, t.Any]:
    """Return the items that a preflight inspects on a node."""
    from ..plugin_utils.preflight.needs import needs_of, needs_of_machine

    if plan is None:
        return needs_of_machine()
    if not isinstance(plan, t.Mapping) or "nodes" not in plan:
        raise AnsibleFilterError("preflight_needs needs a plan returned by trainops.cluster.training_plan")
    try:
        return needs_of(t.cast("t.Any", plan), str(node))
    except ValueError as error:
        raise AnsibleFilterError("preflight_needs cannot find the node.") from error


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., t.Any]]:
        """Return the filter by its name."""
        return {"preflight_needs": preflight_needs}
