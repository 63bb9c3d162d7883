# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_logs: see the module of that name for its documentation."""

from __future__ import annotations

import os
import typing as t
from dataclasses import replace
from pathlib import Path

from ansible import constants as C  # noqa: N812
from ansible.errors import AnsibleActionFail

from ..module_utils.logs.grammars.known import GRAMMARS
from ..plugin_utils.controller_action import ControllerAction, needed_packages, reason_of, show

with needed_packages(__name__):
    from ..plugin_utils.inventory.unknown_variables import ignored_variables
    from ..plugin_utils.plan.options import CONFIG_ARGUMENTS as ARGUMENTS
    from ..plugin_utils.plan.options import FRAMEWORK_OPTIONS
    from ..plugin_utils.plan.plan import thresholds_of_config
    from ..plugin_utils.plan.plan_text import plan_text
    from ..plugin_utils.plan.threshold_files import ThresholdsFile
    from ..plugin_utils.run_from_logs.files import find_runs, fit_name
    from ..plugin_utils.run_from_logs.open import ConfigFaultsError, read_runs, write_run
    from ..plugin_utils.run_from_logs.plan import Known

if t.TYPE_CHECKING:
    from ..plugin_utils.run_from_logs.files import LoggedRun
    from ..plugin_utils.run_from_logs.open import ReadRun


class ActionModule(ControllerAction):
    """Turns logs that already exist into folders of runs on the controller."""

    def act(self) -> dict[str, t.Any]:
        """Return the folders of the runs, or fail with every error."""
        self.refuse_unknown(ignored_variables(self.variables))
        arguments = self.arguments(raw=ARGUMENTS.values())
        runs = self._found(arguments["logs"], arguments["run_id"])
        own = {name: name for name in FRAMEWORK_OPTIONS}
        options = self.options(own, dict.fromkeys(own))
        options |= self.options(ARGUMENTS, arguments)
        known = self._known(arguments, options)
        output_dir = Path(C.DEFAULT_LOCAL_TMP if self._task.check_mode else os.path.abspath(arguments["output_dir"]))
        framework, mode = _given(options, "training_framework"), _given(options, "training_mode")
        if framework is not None and framework not in GRAMMARS:
            raise AnsibleActionFail(f"training_framework is {framework}, but must be one of: {', '.join(GRAMMARS)}.")
        read: list[ReadRun] = []
        refused: dict[str, str] = {}
        for run in runs:
            try:
                read += read_runs(run, output_dir, framework, mode, known)
            except ConfigFaultsError as error:
                show(f"\n{plan_text(error.plan)}\n")
                refused[run.name] = f"{error}, listed above"
            except (ValueError, OSError) as error:
                refused[run.name] = reason_of(error, run.folder)
        if not read:
            raise AnsibleActionFail(f"{_sentences(list(dict.fromkeys(refused.values())))}\nNo log has been judged.")
        try:
            changed = [write_run(run, known.exit_status) for run in read]
        except OSError as error:
            raise AnsibleActionFail(f"A run cannot be written: {reason_of(error)}.") from None
        return {
            "changed": any(changed),
            "runs": [{"run_id": run.run_id, "run_dir": str(run.run_dir)} for run in read],
            "refused": [f"{name} was not judged: {reason}." for name, reason in refused.items()],
        }

    def _found(self, logs: list[str], run_id: str) -> list[LoggedRun]:
        try:
            runs = find_runs(logs)
        except ValueError as error:
            raise AnsibleActionFail(_sentences(str(error).splitlines())) from None
        if not run_id:
            return runs
        if len(runs) > 1:
            raise AnsibleActionFail(f"{run_id} cannot be the name of {len(runs)} runs. Omit training_run_id.")
        if fit_name(run_id) != run_id:
            raise AnsibleActionFail(f"training_run_id is {run_id!r}, but may contain only letters, digits and . _ : -.")
        return [replace(runs[0], name=run_id)]

    def _known(self, arguments: dict[str, t.Any], options: dict[str, t.Any]) -> Known:
        """Return the facts about the run that its logs lack."""
        given, config, steps = options.get("training_thresholds"), arguments["config"], arguments["steps_expected"]
        for name in ("nodes", "steps_expected"):
            if arguments[name] is not None and arguments[name] < 1:
                raise AnsibleActionFail(f"training_{name} is {arguments[name]}, but must be at least 1.")
        if not config:
            of_config = [name for name in ("training_overrides", "training_thresholds") if options.get(name)]
            if of_config:
                raise AnsibleActionFail(f"{' and '.join(of_config)} cannot be applied without training_config.")
            return Known("", "", options, arguments["nodes"], arguments["exit_status"], None, steps)
        path, text, unreadable = self.file(config)
        if unreadable:
            raise AnsibleActionFail(f"The training config {path} cannot be read: {unreadable}.")
        named = given or thresholds_of_config(text, path, options)
        thresholds = ThresholdsFile(*self.file(named)) if named and isinstance(named, str) else None
        return Known(text, path, options, arguments["nodes"], arguments["exit_status"], thresholds, steps)


def _given(options: dict[str, t.Any], name: str) -> str | None:
    choice = str(options.get(name, "auto"))
    return None if choice == "auto" else choice


def _sentences(problems: list[str]) -> str:
    return "\n".join(f"{_begun(problem)}." for problem in problems)


def _begun(problem: str) -> str:
    """Return a sentence with a capital, unless it begins with the name of a variable or a path."""
    word = problem.split(" ", maxsplit=1)[0]
    return problem if "_" in word or "/" in word else problem[:1].upper() + problem[1:]
