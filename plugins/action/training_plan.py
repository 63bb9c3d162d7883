# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_plan: see the module of that name for its documentation."""

from __future__ import annotations

import json
import os
import time
import typing as t
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from ansible import constants as C  # noqa: N812
from ansible.errors import AnsibleActionFail

from ..module_utils.slurm.desk import ID_NAME
from ..plugin_utils.contracts import Finding, Plan
from ..plugin_utils.controller_action import ControllerAction, inventory_name, needed_packages, reason_of, show

with needed_packages(__name__):
    from ..plugin_utils.inventory.unknown_variables import ignored_variables, misspelled_variables, unknown_variables
    from ..plugin_utils.plan.options import PLAN_ARGUMENTS as ARGUMENTS
    from ..plugin_utils.plan.plan import thresholds_of_config
    from ..plugin_utils.plan.plan_text import plan_in_short, plan_text
    from ..plugin_utils.plan.sweep_plan import SweepPlan, plan_sweep, sweep_text
    from ..plugin_utils.plan.threshold_files import ThresholdsFile
    from ..plugin_utils.report.query import DIALECTS_OPTION, QUERY, dialect_faults, query_faults
    from ..plugin_utils.run.candidates import candidates_of, chosen_of
    from ..plugin_utils.run.plan_again import NotJudgedError, plan_again
    from ..plugin_utils.run.quarantine import Quarantine
    from ..plugin_utils.run.runs import open_run
    from ..plugin_utils.run.sweep import FINISHED, Sweep
    from ..plugin_utils.run.token import FILE, VALUE, source_of_token
    from ..plugin_utils.run.whole_file import write_whole
    from ..plugin_utils.slurm.cluster import refused
    from ..plugin_utils.slurm.plan_run import next_job, plan_run, with_pyxis
    from ..plugin_utils.text.words import counted


# The whole plan for people, in the run's folder beside plan.json.
PLAN_TEXT = "plan.txt"


class Config(t.NamedTuple):
    """A training config's text and path, why it could not be read, if so, and the file of its thresholds, if any."""

    path: str
    text: str
    unreadable: str | None
    thresholds: ThresholdsFile | None


_SHOWS_DATA = 3
# Of the parts of a run, and of Ansible itself.
_TAGS = (
    "plan",
    "preflight",
    "ranks",
    "stage",
    "train",
    "finish",
    "report",
    "notify",
    "always",
    "all",
    "tagged",
    "untagged",
)


class ActionModule(ControllerAction):
    """Makes the plan of a run on the controller, once for all hosts, and touches no node."""

    def act(self) -> dict[str, t.Any]:
        """Return the plan, or the plans of all cells of a sweep; on faults, show all of them and fail."""
        arguments = self.arguments(raw=("matrix", *ARGUMENTS.values()), required_if=[("sweep", True, ["output_dir"])])
        options = with_pyxis(self.options(ARGUMENTS, arguments))
        hostvars, now = self.variables["hostvars"], time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        variables = {**{name: hostvars[name] for name in arguments["hosts"]}, **self.own()}
        problems = [
            *unknown_variables(variables),
            *ignored_variables(self.variables),
            *self._faults_of_report(),
            *self._note_token(options),
            *_faults_of_folder(arguments["output_dir"]),
        ]
        config = self._config(arguments["config"], options)
        group, of_play = str(options.get("training_spares") or "").strip(), self.variables["ansible_play_hosts_all"]
        candidates = candidates_of(group, self.variables["groups"], arguments["hosts"], of_play)
        problems += candidates.faults
        path = None if arguments["with_quarantined"] else arguments["quarantine"]
        quarantine = Quarantine(os.path.abspath(path), inventory_name()) if path else None
        if arguments["retry_of"] is not None:
            return self._next_attempt(arguments, config, options, candidates.spares, quarantine)
        chosen = chosen_of(candidates, quarantine, options.get("training_rank_order"))
        if chosen.rank_order is not None:
            options["training_rank_order"] = chosen.rank_order
        problems += chosen.faults
        nodes = [self.node(name) for name in chosen.hosts]
        if arguments["sweep"]:
            sweep = Sweep(os.path.abspath(arguments["output_dir"]), arguments["sweep_id"] or f"{now}-sweep")
            given = (config.text, config.path, options, arguments["matrix"], nodes, sweep.run_id_of)
            plan_cells = partial(plan_sweep, *given, config.unreadable, config.thresholds, plan_run)
            return self._sweep(sweep, config.path, plan_cells, problems)
        plan = plan_run(config.text, config.path, options, nodes, now, config.unreadable, config.thresholds)
        plan["warnings"] = [*misspelled_variables(variables), *chosen.warnings, *plan["warnings"]]
        if problems:
            plan |= {"faults": [*problems, *plan["faults"]], "nodes": []}
        return self._planned(arguments, plan)

    def _planned(self, arguments: dict[str, t.Any], plan: Plan) -> dict[str, t.Any]:
        """Show a plan, and return it with the run's folder, or fail with its faults."""
        folder = os.path.join(arguments["output_dir"] or "", plan["run_id"])
        if "slurm" in plan and not os.path.exists(os.path.join(folder, ID_NAME)):
            plan["faults"], warnings = refused(plan["slurm"])
            # They describe today's state, but the plan must be the same tomorrow.
            for warning in warnings:
                self._display.warning(f"{warning['key']}: {warning['message']} {warning['remedy']}")
        if unknown := {*self.variables.get("ansible_run_tags", ())} - {*_TAGS, *self._task.tags}:
            self._display.warning(
                f"No part of a run has the tag {', '.join(sorted(unknown))}. The tags are {', '.join(_TAGS)}."
            )
        runs = arguments["output_dir"] and not plan["faults"] and not self._task.check_mode
        if not runs:
            # In a run, each node says whether it found its token.
            for path in _missing_token_files(plan):
                self._display.warning(
                    f"hf_token_file {path} is not on this machine: a node without it has no Hugging Face token."
                )
        # The nodes' commands are in the run's folder; they are also shown if only a plan was requested. A preflight
        # reports on the nodes; the plan is shown only for context.
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
            # The plan is shown above; its data only with -vvv.
            **({} if self._display.verbosity >= _SHOWS_DATA else {"_ansible_verbose_override": True}),
        }

    def _next_attempt(
        self,
        arguments: dict[str, t.Any],
        config: Config,
        options: dict[str, t.Any],
        spares: list[str],
        quarantine: Quarantine | None,
    ) -> dict[str, t.Any]:
        """Return the next attempt at a run as a plan, or why there is none; fail with the reason if one is required."""

        def make(given: Mapping[str, t.Any], hosts: Sequence[str]) -> Plan:
            nodes = [self.node(name) for name in hosts or arguments["hosts"]]
            return plan_run(config.text, config.path, given, nodes, "", config.unreadable, config.thresholds)

        run_dir = arguments["retry_of"]
        try:
            plan = plan_again(run_dir, options, spares, quarantine, make, next_job)
        except NotJudgedError as error:
            raise AnsibleActionFail(str(error)) from None
        except (ValueError, OSError) as error:
            reason = f"Run {os.path.basename(run_dir)} is not retried: {reason_of(error)}."
            if arguments["require_retry"]:
                raise AnsibleActionFail(reason) from None
            show(f"\n{reason}\n", "yellow")
            return {"changed": False, "not_retried": reason, "run_dir": run_dir}
        return self._planned(arguments, plan)

    def _faults_of_report(self) -> list[Finding]:
        """Return errors that would appear only after the training: an unreadable query, an unknown dialect."""
        asked = self._templar.template({name: self.variables.get(name) for name in (QUERY, DIALECTS_OPTION)})
        return [*query_faults(asked[QUERY]), *dialect_faults(asked[DIALECTS_OPTION])]

    def _sweep(
        self, sweep: Sweep, config_file: str, plan_cells: Callable[[], SweepPlan], problems: list[Finding]
    ) -> dict[str, t.Any]:
        """Return the cells of a sweep with the next action for each, after writing the plans of new cells."""
        try:
            planned = plan_cells()
            jobs = [cell["plan"]["slurm"] for cell in planned["cells"][:1] if "slurm" in cell["plan"]]
            problems += [fault for job in jobs for fault in refused(job)[0]]
            planned["faults"] += [{**problem, "cells": []} for problem in problems]
            show(f"\n{sweep_text(sweep.sweep_id, planned, sweep.next_of_cells())}\n")
            self._refuse(planned["faults"], "sweep")
            if not self._task.check_mode:
                sweep.open(planned["cells"], config_file)
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

    def _note_token(self, options: dict[str, t.Any]) -> list[Finding]:
        """Note a token's source among the options; return the fault if there is none.

        The token is not an option of the task, because options are shown.
        """
        value = str(self._templar.template(self.variables.get(VALUE)) or "")
        source, faults = source_of_token(value, str(options.get(FILE, "")))
        if source:
            options[FILE] = source
        return faults

    def _opened(self, output_dir: str, plan: Plan, adopts: bool) -> str:
        """Return the run's folder with the plan in it; in check mode a folder that Ansible removes at its end."""
        parent = C.DEFAULT_LOCAL_TMP if self._task.check_mode else output_dir
        run_dir = os.path.abspath(os.path.join(parent, plan["run_id"]))
        try:
            told = open_run(run_dir, plan, os.path.join(output_dir, plan["run_id"]), adopts=adopts)
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        except OSError as error:
            raise _not_written(error) from None
        if told:
            show(told)
        return run_dir

    def _config(self, config: str, options: dict[str, t.Any]) -> Config:
        path, text, unreadable = self.file(config)
        named = options.get("training_thresholds") or thresholds_of_config(text, path, options)
        # An invalid file name is a fault of the plan.
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


def _faults_of_folder(output_dir: str | None) -> list[Finding]:
    """Return the fault of a folder of runs that is set to nothing."""
    if output_dir != "":
        return []
    remedy = "Set it to the path of a folder on this machine, or omit it."
    return [{"key": "training_output_dir", "value": "", "message": "It is empty.", "remedy": remedy}]


def _missing_token_files(plan: Plan) -> list[str]:
    """Return the files of a config's Hugging Face token that a run cannot take from the controller."""
    paths = {secret["source"] for node in plan["nodes"] for secret in node["secrets"] if secret["source"]}
    return sorted(path for path in paths if not os.path.isfile(path))


def _not_written(error: OSError) -> AnsibleActionFail:
    """Return the failure of a folder of runs that cannot be written."""
    reason = f"{error.filename} cannot be written on this machine: {error.strerror}"
    return AnsibleActionFail(f"{reason}. No node has been touched. Set training_output_dir to a writable folder.")
