# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_plan: see the module of that name for its documentation."""

from __future__ import annotations

import json
import os
import time
import typing as t
from pathlib import Path

from ansible import constants as C  # noqa: N812
from ansible.errors import AnsibleActionFail

from ..module_utils.slurm.desk import ID_NAME
from ..plugin_utils.contracts import Finding, Plan
from ..plugin_utils.controller_action import ControllerAction, inventory_name, needed_packages, reason_of, show

with needed_packages(__name__):
    from ..module_utils.node.identity import ADOPTS
    from ..plugin_utils.inventory.unknown_variables import ignored_variables, misspelled_variables, unknown_variables
    from ..plugin_utils.plan.job.ranks import Node
    from ..plugin_utils.plan.options import PLAN_ARGUMENTS as ARGUMENTS
    from ..plugin_utils.plan.plan import make_plan, thresholds_of_config
    from ..plugin_utils.plan.plan_text import plan_in_short, plan_text
    from ..plugin_utils.plan.slurm.options import SSH
    from ..plugin_utils.plan.slurm.script import excluding
    from ..plugin_utils.plan.sweep_plan import plan_sweep, sweep_text
    from ..plugin_utils.plan.threshold_files import ThresholdsFile
    from ..plugin_utils.report.asked import DIALECTS_OPTION, QUERY, dialect_faults, query_faults
    from ..plugin_utils.run.board import Board
    from ..plugin_utils.run.quarantine import Quarantine
    from ..plugin_utils.run.retry import left_out, next_attempt, node_faults, why_not_again, without
    from ..plugin_utils.run.runs import differences
    from ..plugin_utils.run.slurm.cluster import has_pyxis, nodes_for, refused
    from ..plugin_utils.run.sweep import FINISHED, Sweep, summary_of
    from ..plugin_utils.run.token import FILE, VALUE, given_token
    from ..plugin_utils.run.whole_file import write_whole
    from ..plugin_utils.text.words import counted


# The whole plan for people, in the run's folder beside plan.json.
PLAN_TEXT = "plan.txt"


class Config(t.NamedTuple):
    """A training config's text and path, why it could not be read, if so, and the file of its thresholds, if any."""

    path: str
    text: str
    unreadable: str | None
    thresholds: ThresholdsFile | None


class _NotRetriedError(AnsibleActionFail):
    """A run is not retried."""


class ActionModule(ControllerAction):
    """Makes the plan of a run on the controller, once for all hosts, and touches no node."""

    def act(self) -> dict[str, t.Any]:
        """Return the plan, or those of all cells of a sweep, or fail with all faults shown."""
        arguments = self.arguments(raw=("matrix", *ARGUMENTS.values()), required_if=[("sweep", True, ["output_dir"])])
        options = self.options(ARGUMENTS, arguments)
        hostvars = self.variables["hostvars"]
        variables = {**{name: hostvars[name] for name in arguments["hosts"]}, **self.own()}
        now = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        problems = [
            *unknown_variables(variables),
            *ignored_variables(self.variables),
            *self._faults_of_report(),
            *self._note_token(options, self.variables.get(VALUE)),
        ]
        if arguments["output_dir"] == "":
            remedy = "Set it to the path of a folder on this machine, or omit it."
            problems.append({"key": "training_output_dir", "value": "", "message": "It is empty.", "remedy": remedy})
        if options.get("training_launcher", SSH) != SSH and has_pyxis():
            options["training_slurm_pyxis"] = True
        config = self._config(arguments["config"], options)
        group, more = self._spare_hosts(options)
        problems += more
        self._hosts = arguments["hosts"]
        self._spares = [host for host in group if host in self.variables["ansible_play_hosts_all"]]
        path = arguments["quarantine"]
        leaves_out = path and not arguments["with_quarantined"]
        self._quarantine = Quarantine(os.path.abspath(path), inventory_name()) if leaves_out else None
        if arguments["retry_of"] is not None:
            try:
                plan = self._next_attempt(arguments["retry_of"], config, options)
            except _NotRetriedError as error:
                if arguments["require_retry"]:
                    raise
                show(f"\n{error.message}\n", "yellow")
                return {"changed": False, "not_retried": error.message, "run_dir": arguments["retry_of"]}
            return self._planned(arguments, plan)
        hosts = [host for host in arguments["hosts"] if host not in group]
        hosts, warnings, more = self._without_quarantined(hosts, options)
        problems += more
        nodes = [self.node(name) for name in hosts]
        if arguments["sweep"]:
            sweep = Sweep(os.path.abspath(arguments["output_dir"]), arguments["sweep_id"] or f"{now}-sweep")
            return self._sweep(sweep, config, options, arguments["matrix"], nodes, problems)
        plan = make_plan(config.text, config.path, options, nodes, now, config.unreadable, config.thresholds)
        plan["warnings"] = [*misspelled_variables(variables), *warnings, *plan["warnings"]]
        if problems:
            plan |= {"faults": [*problems, *plan["faults"]], "nodes": []}
        return self._planned(arguments, plan)

    def _planned(self, arguments: dict[str, t.Any], plan: Plan) -> dict[str, t.Any]:
        """Show a plan, and return it with the run's folder, or fail with its faults."""
        folder = os.path.join(arguments["output_dir"] or "", plan["run_id"])
        if "slurm" in plan and not os.path.exists(os.path.join(folder, ID_NAME)):
            plan["faults"], warnings = refused(plan["slurm"])
            # They are those of today, and the plan is the same tomorrow.
            for warning in warnings:
                self._display.warning(f"{warning['key']}: {warning['message']} {warning['remedy']}")
        # What every node runs is in the run's folder, and on the screen where a plan is all that was asked for.
        runs = arguments["output_dir"] and not plan["faults"] and not self._task.check_mode
        # A preflight shows what the nodes are, and the plan only so that one sees what for.
        is_short = (runs or (arguments["with_quarantined"] and not plan["faults"])) and not self._display.verbosity
        text = plan_in_short(plan) if is_short else plan_text(plan)
        if runs:
            text += f"\n\nEvery node's command and environment: {os.path.join(folder, PLAN_TEXT)}"
        show(f"\n{text}\n")
        if arguments["plan_file"]:
            self._write(arguments["plan_file"], plan)
        self._refuse(plan["faults"], "plan")
        output_dir = arguments["output_dir"]
        run_dir = self._opened(output_dir, plan, arguments["adopt"]) if output_dir else None
        if run_dir and runs:
            self._write_text(os.path.join(run_dir, PLAN_TEXT), plan_text(plan))
        return {
            "changed": False,
            "plan": plan,
            "run_dir": run_dir,
            "run_id": plan["run_id"],
            "nodes": [node["node"] for node in plan["nodes"]],
            "quarantine": arguments["quarantine"],
        }

    def _faults_of_report(self) -> list[Finding]:
        """Return what would fail only after the training: a query that cannot be read, an unknown dialect."""
        asked = self._templar.template({name: self.variables.get(name) for name in (QUERY, DIALECTS_OPTION)})
        return [*query_faults(asked[QUERY]), *dialect_faults(asked[DIALECTS_OPTION])]

    def _spare_hosts(self, options: dict[str, t.Any]) -> tuple[list[str], list[Finding]]:
        """Return the hosts of the group of spares, and the fault of a group that is none."""
        group = str(options.get("training_spares") or "").strip()
        if not group:
            return [], []
        groups = self.variables["groups"]
        if not groups.get(group):
            known = ", ".join(sorted(name for name in groups if name not in ("all", "ungrouped"))) or "none"
            message = f"The inventory has no group {group} with hosts in it."
            remedy = f"Set it to one of the inventory's groups: {known}."
            return [], [{"key": "training_spares", "value": group, "message": message, "remedy": remedy}]
        return list(groups[group]), []

    def _without_quarantined(
        self, hosts: list[str], options: dict[str, t.Any]
    ) -> tuple[list[str], list[Finding], list[Finding]]:
        """Return the hosts of a plan, a spare in the place of each in quarantine, with warnings and faults.

        What is left out so is left out of the rank order as well.
        """
        try:
            held = self._quarantine.hosts() if self._quarantine else {}
        except ValueError as error:
            fault: Finding = {"key": "quarantine", "value": None, "message": f"{error}.", "remedy": ""}
            return hosts, [], [fault]
        chosen, taken = without(hosts, held, self._spares)
        order = options.get("training_rank_order")
        if taken and isinstance(order, list):
            options["training_rank_order"] = [host for name in order if (host := taken.get(name, name))]
        return chosen, left_out(held, taken), []

    def _next_attempt(self, run_dir: str, config: Config, options: dict[str, t.Any]) -> Plan:
        """Return the plan of the next attempt at a run, its node at fault in quarantine; fail where there is none."""
        board = Board(run_dir)
        try:
            plan, summary = board.plan(), summary_of(run_dir)
        except ValueError as error:
            raise AnsibleActionFail(f"{error}.") from None
        if summary is None:
            raise AnsibleActionFail(f"{run_dir} was not judged, so it is not retried.")
        faults = node_faults(summary)
        interrupted = any(board.status(node["node"]).get("interrupted") for node in plan["nodes"])

        on_slurm = "slurm" in plan

        def make(run_id: str, hosts: list[str]) -> Plan:
            given = {**options, "training_run_id": run_id}
            if on_slurm:
                given |= {"training_slurm_exclude": excluded, "training_slurm_nodes": len(hosts)}
                hosts = self._hosts
            else:
                given |= {"training_rank_order": hosts, "training_exclude": []}
            nodes = [self.node(name) for name in hosts]
            return make_plan(config.text, config.path, given, nodes, "", config.unreadable, config.thresholds)

        try:
            # Slurm has a quarantine of its own: it drains nodes.
            if faults and self._quarantine and not interrupted and not on_slurm:
                self._quarantine.add(faults, plan["run_id"])
            held = self._quarantine.hosts() if self._quarantine and not on_slurm else {}
            reason = why_not_again(plan, summary, int(options.get("training_retries", 0)), interrupted)
            if reason:
                raise ValueError(reason)
            out = {**{host: one.reason for host, one in held.items()}, **faults}
            before = plan["retry"]["left_out"] if "retry" in plan else []
            names = [*(one["node"] for one in before), *out]
            excluded = excluding(options.get("training_slurm_exclude") or "", names)
            spares = self._spares
            if on_slurm:
                left, used = nodes_for(plan["slurm"], excluded), len(plan["nodes"]) - len(out)
                spares = ["another node"] * (len(out) if left is None else left - used)
            return next_attempt(plan, out, spares, make)
        except (ValueError, OSError) as error:
            raise _NotRetriedError(f"Run {plan['run_id']} is not retried: {reason_of(error)}.") from None

    def _sweep(
        self,
        sweep: Sweep,
        config: Config,
        options: dict[str, t.Any],
        matrix: t.Any,
        nodes: list[Node],
        problems: list[Finding],
    ) -> dict[str, t.Any]:
        """Return the cells of a sweep and what is to be done with each, with the plans of the new ones written."""
        try:
            planned = plan_sweep(
                *(config.text, config.path, options, matrix, nodes, sweep.run_id_of),
                unreadable=config.unreadable,
                thresholds=config.thresholds,
            )
            jobs = [cell["plan"]["slurm"] for cell in planned["cells"][:1] if "slurm" in cell["plan"]]
            problems += [fault for job in jobs for fault in refused(job)[0]]
            planned["faults"] += [{**problem, "cells": []} for problem in problems]
            show(f"\n{sweep_text(sweep.sweep_id, planned, sweep.next_of_cells())}\n")
            self._refuse(planned["faults"], "sweep")
            if not self._task.check_mode:
                sweep.open(planned["cells"], config.path)
        except ValueError as error:
            raise AnsibleActionFail(f"{error}.") from None
        except OSError as error:
            raise _not_written(error) from None
        cells = sweep.cells(planned["cells"])
        return {
            "changed": False,
            "sweep_id": sweep.sweep_id,
            "sweep_dir": str(sweep.folder),
            "cells": cells,
            "to_run": [cell for cell in cells if cell["state"] != FINISHED],
            "nodes": [node["node"] for node in planned["cells"][0]["plan"]["nodes"]],
        }

    @staticmethod
    def _refuse(faults: list[t.Any], what: str) -> None:
        if faults:
            raise AnsibleActionFail(
                f"The {what} has {counted(len(faults), 'error')}, listed above. No node has been touched."
            )

    def _note_token(self, options: dict[str, t.Any], token: t.Any) -> list[Finding]:
        """Note among the options where a token comes from, never the token; return the fault where there is none.

        The token is no option of the task, since options are shown.
        """
        value, path = str(self._templar.template(token) or ""), str(options.get(FILE, ""))
        try:
            given = given_token(value, path)
        except ValueError as error:
            remedy = "Set it to the path of a file with the token, on the machine that runs Ansible."
            return [{"key": FILE, "value": path, "message": f"{error}.", "remedy": remedy}]
        if given:
            options[FILE] = VALUE if value else path
        return []

    def _opened(self, output_dir: str, plan: Plan, adopts: bool) -> str:
        """Return the run's folder with the plan in it; in check mode a folder that Ansible removes at its end."""
        parent = C.DEFAULT_LOCAL_TMP if self._task.check_mode else output_dir
        run_dir = os.path.abspath(os.path.join(parent, plan["run_id"]))
        board, known = Board(run_dir), Board(os.path.join(output_dir, plan["run_id"]))
        if adopts and "slurm" in plan:
            raise AnsibleActionFail(f"Run {plan['run_id']} is a job of Slurm, which only its own folder follows.")
        try:
            board.write_plan(plan)
            if adopts:
                board.adopt(ADOPTS)
                show(f"Resuming what the nodes hold of run {plan['run_id']}; nothing is started.\n")
            elif known.run_dir.is_dir():
                # In check mode the run may be there already.
                board.adopt(known.nonce())
        except FileExistsError:
            self._refuse_another_plan(run_dir, plan)
        except OSError as error:
            raise _not_written(error) from None
        return run_dir

    def _refuse_another_plan(self, run_dir: str, plan: Plan) -> None:
        """Go on with the run of this name if it is the same one, so that the same command picks it up again."""
        different = differences(Board(run_dir).made_plan(), plan)
        if different:
            raise AnsibleActionFail(
                f"{run_dir} holds another run of this name; its plan differs in {', '.join(different[:5])}. Choose "
                "another training_run_id, or omit it."
            ) from None
        show(f"Run {plan['run_id']} already exists; resuming it.\n")

    def _config(self, config: str, options: dict[str, t.Any]) -> Config:
        path, text, unreadable = self.file(config)
        named = options.get("training_thresholds") or thresholds_of_config(text, path, options)
        # What is no name of a file at all is a fault of the plan's.
        of_file = ThresholdsFile(*self.file(named)) if named and isinstance(named, str) else None
        return Config(path, text, unreadable, of_file)

    @staticmethod
    def _write_text(path: str, text: str) -> None:
        try:
            write_whole(Path(path), f"{text}\n")
        except OSError as error:
            raise _not_written(error) from None

    @staticmethod
    def _write(path: str, plan: Plan) -> None:
        try:
            with open(path, "w", encoding="utf-8") as stream:
                json.dump(plan, stream, indent=2)
                stream.write("\n")
        except OSError as error:
            raise AnsibleActionFail(f"The plan cannot be written to {path}: {error.strerror}.") from None


def _not_written(error: OSError) -> AnsibleActionFail:
    """Return the failure of a folder of runs that cannot be written."""
    reason = f"{error.filename} cannot be written on this machine: {error.strerror}"
    return AnsibleActionFail(f"{reason}. No node has been touched. Set training_output_dir to a writable folder.")
