# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the filters that take a training config: its plan, and one node's part of that plan."""

from __future__ import annotations

import getpass
import json
import os
import typing as t
from collections.abc import Mapping, Sequence

from ansible.errors import AnsibleFilterError
from ansible.utils.display import Display

from ..module_utils.node.interfaces import AUTO, VARIABLES
from .contracts import NodePlan, Plan
from .controller_action import node_from, plain, reason_of
from .plan.config.budget import text_of
from .plan.job.ranks import Node
from .plan.options import PLAN_ARGUMENTS
from .slurm.plan_run import plan_run
from .text.words import nearest


def plan_of(source: t.Any, nodes: Sequence[t.Any] | None = None, **options: t.Any) -> Plan:
    """Return the plan of a training config for nodes, or a plan as it is; `AnsibleFilterError` with all faults.

    ``source`` is a plan, or a config as its path, its text or its data. ``nodes`` are names of hosts, or their
    variables; ``options`` the variables of a plan, with or without their prefix.
    """
    source = plain(source)
    if isinstance(source, Mapping) and {"run_id", "nodes", "expected"} <= source.keys():
        if nodes is not None or options:
            raise AnsibleFilterError("nodes and options belong to a training config, but this is a plan already")
        plan = t.cast("Plan", source)
        if not plan["nodes"]:
            raise AnsibleFilterError("the plan has no nodes: it has errors, or it is for another platform")
        return plan
    text, path = _text_of(source)
    plan = plan_run(text, path, _named(plain(options)), [_node(node) for node in nodes or ["localhost"]])
    if plan["faults"]:
        faults = [f"{fault['key']}: {fault['message']} {fault['remedy']}" for fault in plan["faults"]]
        raise AnsibleFilterError("\n".join(["the training config has errors:", *faults]))
    return plan


def node_of(plan: Plan, node: str | int) -> NodePlan:
    """Return the part of a node, by its name or its rank; `AnsibleFilterError` if there is none."""
    found = [one for place, one in enumerate(plan["nodes"]) if node in (one["node"], place)]
    if not found:
        names = ", ".join(one["node"] for one in plan["nodes"][:8])
        raise AnsibleFilterError(
            f"the plan has no node {node!r}; give a rank from 0 to {len(plan['nodes']) - 1}, or a name: {names}"
        )
    return found[0]


def without_auto(node: NodePlan, interface: str) -> tuple[dict[str, str], list[str]]:
    """Return environment and arguments of a node, with the interface wherever the plan leaves that to the node.

    Without an interface, variables that need one are left out with a warning: auto would be read as a name.
    """
    left = [name for name in VARIABLES if node["env"].get(name) == AUTO]
    if left and not interface:
        Display().warning(
            f"{', '.join(left)} is left out: the network interface is found on the node when a run is staged. Pass "
            "interface=NAME to set it."
        )
    words = {f"{name}={AUTO}": f"{name}={interface}" if interface else None for name in left}
    env = {name: interface if name in left else value for name, value in node["env"].items()}
    argv = [word for asked in node["argv"] if (word := words.get(asked, asked)) is not None]
    return {name: value for name, value in env.items() if interface or name not in left}, argv


def _text_of(source: t.Any) -> tuple[str, str]:
    if not isinstance(source, str):
        return json.dumps(source), "the training config"
    path = os.path.expanduser(source)
    if "\n" in source or source.lstrip().startswith("{"):
        return source, "the training config"
    try:
        return text_of(path), path
    except (OSError, ValueError) as error:
        raise AnsibleFilterError(f"the training config cannot be read: {reason_of(error, path)}") from None


def _named(options: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return options of a filter by the names of their variables."""
    by_argument = {argument: name for name, argument in PLAN_ARGUMENTS.items()} | {
        name: name for name in PLAN_ARGUMENTS
    }
    unknown = [name for name in options if name not in by_argument]
    if unknown:
        said = [
            f"{name}{f' (did you mean {like}?)' if (like := nearest(name, by_argument)) else ''}" for name in unknown
        ]
        raise AnsibleFilterError(f"these are no options of a plan: {', '.join(said)}")
    return {by_argument[name]: value for name, value in options.items()}


def _node(given: t.Any) -> Node:
    if isinstance(given, Mapping):
        name = given.get("inventory_hostname")
        if not name:
            raise AnsibleFilterError("nodes must be names of hosts, or their variables with inventory_hostname in them")
        return node_from(str(name), given, getpass.getuser())
    return node_from(str(given), {}, getpass.getuser())
