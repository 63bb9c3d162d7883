# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_preflight: see the module of that name for its documentation."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ansible import context
from ansible.errors import AnsibleActionFail
from ansible.utils.color import stringc

from ..plugin_utils.controller_action import (
    ControllerAction,
    inventory_name,
    needed_packages,
    own_call,
    reason_of,
    show,
)

with needed_packages(__name__):
    from ..plugin_utils.asked_nodes import AskedNodes
    from ..plugin_utils.node_links import end_with_the_controller
    from ..plugin_utils.preflight.cells import RED, problems_of_red
    from ..plugin_utils.preflight.checks import preflight
    from ..plugin_utils.preflight.needs import machine_plan
    from ..plugin_utils.preflight.table import preflight_text
    from ..plugin_utils.run.blame import blame_of_red
    from ..plugin_utils.run.board import Board
    from ..plugin_utils.run.inspected import Inspected, inspected
    from ..plugin_utils.run.node_errors import said_of
    from ..plugin_utils.run.open_files import allow_open_files
    from ..plugin_utils.run.quarantine import Quarantine
    from ..plugin_utils.text.words import counted

if t.TYPE_CHECKING:
    from ..plugin_utils.contracts import Plan

_COLOURS = {"green": "green", "yellow": "yellow", "red": "red", "grey": "bright gray"}


class ActionModule(ControllerAction):
    """Inspects all nodes of a plan at once, in one task, judges whether they are ready, and shows why not."""

    # Ansible makes no connection for this task: each node has its own.
    BYPASS_HOST_LOOP = True

    def act(self) -> dict[str, t.Any]:
        """Return the rows of the table and the hosts with a red one; fail if there is one, unless told otherwise."""
        arguments = self.arguments()
        plan, only = arguments["plan"], arguments["only"]
        if plan is None and only:
            plan = machine_plan(only, arguments["container_engine"], *self._expected(only))
        if not plan or not plan.get("nodes"):
            raise AnsibleActionFail(
                "plan must be a plan without faults, as returned by trainops.cluster.training_plan."
            )
        seen = self._inspected(plan, only)
        result = preflight(plan, seen.facts, seen.probe, only, seen.errors, own_call())
        of = plan["run_id"] or "machines (no training config)"
        text = preflight_text(of, result, lambda word, status: stringc(word, _COLOURS[status]))
        show(f"\n{text}\n")
        red = [row for row in result["rows"] if row["status"] == RED]
        on, judged = ({row["node"] for row in rows} for rows in (red, result["rows"]))
        released = self._release(arguments["quarantine"], sorted(judged - on))
        if arguments["run_dir"] and not self._task.check_mode:
            for node, found in problems_of_red(red).items():
                Board(arguments["run_dir"]).update(node, unfit=True, **said_of(found))
        answer = {"changed": bool(released), "released": released, **result, "hosts": blame_of_red(red)}
        if red and arguments["require_nodes"]:
            count = f"{counted(len(red), 'red cell')} on {len(on)} of {counted(len(judged), 'node')}"
            answer |= {"failed": True, "msg": f"The preflight found {count}. See above for what to do about each."}
        return answer

    def _inspected(self, plan: Plan, only: list[str] | None) -> Inspected:
        """Inspect the nodes of the plan, or ``only`` some of them."""
        parts = [part for part in plan["nodes"] if only is None or part["node"] in only]
        unknown = [part["node"] for part in parts if part["node"] not in self.variables["hostvars"]]
        if unknown:
            raise AnsibleActionFail(f"{', '.join(unknown)} of the plan are no hosts of the inventory.")
        if too_few := allow_open_files(len(parts)):
            self._display.warning(f"{too_few}.")
        end_with_the_controller()
        with contextlib.closing(AskedNodes(self, plan, parts, "", 0.0)) as asked:
            return inspected(plan, asked.asks, context.CLIARGS["forks"], asked.late, check_mode=self._task.check_mode)

    def _expected(self, names: list[str]) -> tuple[str, int | None]:
        """Return which GPUs, and how many, the inventory expects on the nodes; that all have the same is checked."""
        variables = self.variables["hostvars"].get(names[0], {})
        gpu, count = (
            self._templar.template(variables.get(name)) for name in ("training_gpu", "training_gpus_per_node")
        )
        return str(gpu or ""), int(count) if str(count).isdecimal() else None

    def _release(self, path: str | None, green: list[str]) -> list[str]:
        """Take the nodes that are in order out of quarantine, and return them."""
        if not path or self._task.check_mode:
            return []
        try:
            released = Quarantine(os.path.abspath(path), inventory_name()).release(green)
        except (ValueError, OSError) as error:
            raise AnsibleActionFail(f"No node was released from quarantine: {reason_of(error)}.") from None
        if released:
            show(f"Released from quarantine: {', '.join(released)}.\n")
        return released
