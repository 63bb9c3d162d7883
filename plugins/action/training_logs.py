# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_logs: see the module of that name for its documentation."""

from __future__ import annotations

import os
import typing as t
from dataclasses import replace
from pathlib import Path

from ansible import constants as C  # noqa: N812
from ansible.errors import AnsibleActionFail

from ..plugin_utils.controller_action import ControllerAction, needed_packages, reason_of, show

with needed_packages(__name__):
    from ..plugin_utils.plan.options import CONFIG_ARGUMENTS as ARGUMENTS
    from ..plugin_utils.plan.options import FRAMEWORK_OPTIONS
    from ..plugin_utils.plan.plan_text import plan_text
    from ..plugin_utils.plan.threshold_files import ThresholdsFile
    from ..plugin_utils.run_from_logs.files import find_runs, fit_name
    from ..plugin_utils.run_from_logs.open import ConfigFaultsError, read_run, write_run
    from ..plugin_utils.run_from_logs.plan import Known

if t.TYPE_CHECKING:
    from ..plugin_utils.run_from_logs.files import LoggedRun
    from ..plugin_utils.run_from_logs.open import ReadRun


class ActionModule(ControllerAction):
    """Turns logs that already exist into folders of runs on the controller."""

    def act(self) -> dict[str, t.Any]:
        """Return the folders of the runs, or fail with every error."""
        self.refuse_unknown()
        arguments = self.arguments(raw=ARGUMENTS.values())
        runs = self._found(arguments["logs"], arguments["run_id"])
        own = {name: name for name in FRAMEWORK_OPTIONS}
        options = self.options(own, dict.fromkeys(own))
        options |= self.options(ARGUMENTS, arguments)
        known = self._known(arguments, options)
        output_dir = Path(C.DEFAULT_LOCAL_TMP if self._task.check_mode else os.path.abspath(arguments["output_dir"]))
        framework, mode = _given(options, "training_framework"), _given(options, "training_mode")
        read: list[ReadRun] = []
        problems: list[str] = []
        looked_for = None
        for run in runs:
            try:
                read.append(read_run(run, output_dir, framework, mode, known))
            except ConfigFaultsError as error:
                show(f"\n{plan_text(error.plan)}\n")
                raise AnsibleActionFail(f"{_begun(str(error))}, listed above. No log has been judged.") from None
            except (ValueError, OSError) as error:
                problems.append(reason_of(error, run.folder))
                looked_for = getattr(error, "looked_for", looked_for)
        if looked_for:
            problems.append(looked_for)
            if not framework:
                problems.append("set -e training_framework to judge logs without a step by the failure they show")
        if problems:
            raise AnsibleActionFail(_sentences(problems))
        try:
            changed = [write_run(run, known.exit_status) for run in read]
        except OSError as error:
            raise AnsibleActionFail(f"A run cannot be written: {reason_of(error)}.") from None
        return {"changed": any(changed), "runs": [{"run_id": run.run_id, "run_dir": str(run.run_dir)} for run in read]}

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
        """Return what is known in addition to the logs."""
        given, config = options.get("training_thresholds"), arguments["config"]
        if not config:
            of_config = [name for name in ("training_overrides", "training_thresholds") if options.get(name)]
            if of_config:
                raise AnsibleActionFail(f"{' and '.join(of_config)} cannot be applied without training_config.")
            return Known("", "", options, arguments["nodes"], arguments["exit_status"])
        path, text, unreadable = self.file(config)
        if unreadable:
            raise AnsibleActionFail(f"The training config {path} cannot be read: {unreadable}.")
        thresholds = ThresholdsFile(*self.file(given)) if given and isinstance(given, str) else None
        return Known(text, path, options, arguments["nodes"], arguments["exit_status"], thresholds)


def _given(options: dict[str, t.Any], name: str) -> str | None:
    choice = str(options.get(name, "auto"))
    return None if choice == "auto" else choice


def _sentences(problems: list[str]) -> str:
    return "\n".join(f"{_begun(problem)}." for problem in problems)


def _begun(problem: str) -> str:
    """Return a sentence with a capital, but for one that begins with the name of a variable or a path."""
    word = problem.split(" ", maxsplit=1)[0]
    return problem if "_" in word or "/" in word else problem[:1].upper() + problem[1:]
