# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.rank_assignment: see the module of that name for its documentation."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail

from ..plugin_utils.controller_action import ControllerAction, needed_packages

with needed_packages(__name__):
    from ..plugin_utils.plan.config.findings import Findings
    from ..plugin_utils.plan.job.ranks import Assignment, assignments, ranked

NODE, SPARE, IDLE = "node", "spare", "idle"


class ActionModule(ControllerAction):
    """Gives the hosts of a play their ranks, on the controller, once for all hosts."""

    def act(self) -> dict[str, t.Any]:
        """Return each host's part in the run; fail with every error."""
        arguments = self.arguments()
        hosts = list(dict.fromkeys(arguments["hosts"]))
        spares = self._spares(arguments["spares"])
        findings = Findings()
        if arguments["nodes"]:
            known = [name for name in arguments["nodes"] if name in self.variables["hostvars"]]
            of_nodes = ranked([self.node(name) for name in known], findings) if known else []
        else:
            able = [self.node(name) for name in hosts if name not in spares]
            of_nodes = assignments(able, arguments["rank_order"], arguments["exclude"], findings)
        if findings.faults:
            faults = [f"{fault['key']}: {fault['message']} {fault['remedy']}" for fault in findings.faults]
            raise AnsibleActionFail("\n".join([*faults, "No rank has been assigned."]))
        by_host = {assignment["node"]: assignment for assignment in of_nodes}
        in_rank_order = [name for name in by_host if name in hosts]
        idle = [name for name in hosts if name not in by_host]
        return {
            "changed": False,
            "warnings": [f"{one['key']}: {one['message']} {one['remedy']}" for one in findings.warnings],
            "nodes": list(by_host),
            "hosts": [
                *(_part(name, NODE, by_host[name]) for name in in_rank_order),
                *(_part(name, SPARE if name in spares else IDLE, None) for name in idle),
            ],
        }

    def _spares(self, group: str) -> list[str]:
        groups = self.variables["groups"]
        if group and not groups.get(group):
            known = ", ".join(sorted(name for name in groups if name not in ("all", "ungrouped"))) or "none"
            raise AnsibleActionFail(
                f"spares is {group}, but the inventory has no such group with hosts in it; its groups: {known}."
            )
        return list(groups[group]) if group else []


def _part(host: str, part: str, assignment: Assignment | None) -> dict[str, t.Any]:
    found = assignment or {"node_rank": None, "nnodes": None, "master_address": None, "topology": ""}
    return {**found, "node": host, "part": part}
