# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_sweep_report: see the module of that name for its documentation."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail

from ..plugin_utils.controller_action import ControllerAction, needed_packages, reason_of, write_index_of

with needed_packages(__name__):
    from ..plugin_utils.report.side_by_side import NOT_RUN
    from ..plugin_utils.run.sweep_blame import blame_of_cells


class ActionModule(ControllerAction):
    """Writes the report of a sweep on the controller, once for all hosts."""

    def act(self) -> dict[str, t.Any]:
        """Return the results of all cells; fail if any did not pass, unless failing is switched off."""
        arguments = self.arguments()
        if self._task.check_mode:
            return {"changed": False, "skipped": True, "msg": "not run in check mode"}
        from ..plugin_utils.report.sweep import PAGE, write_sweep_report

        sweep_dir = os.path.abspath(arguments["sweep_dir"])
        try:
            sweep, changed = write_sweep_report(sweep_dir)
        except (ValueError, OSError) as error:
            raise AnsibleActionFail(f"The sweep report cannot be written: {reason_of(error)}.") from None
        changed = write_index_of(os.path.dirname(sweep_dir)) or changed
        missed_cells = [cell for cell in sweep["cells"] if cell["verdict"] not in ("PASS", NOT_RUN)]
        missed = [cell["name"] for cell in missed_cells]
        open_cells = [cell["name"] for cell in sweep["cells"] if cell["verdict"] == NOT_RUN]
        result = {
            "changed": changed,
            "report": os.path.join(sweep_dir, PAGE),
            "best": sweep["best"],
            "counts": sweep["counts"],
            "missed": missed,
        }
        if arguments["require_pass"] and (missed or open_cells):
            problems = [f"{len(missed)} did not pass ({', '.join(missed)})"] if missed else []
            problems += [f"{len(open_cells)} did not run ({', '.join(open_cells)})"] if open_cells else []
            message = f"Of {len(sweep['cells'])} cells, {' and '.join(problems)}."
            blamed = blame_of_cells(missed_cells, Path(sweep_dir).parent, self.variables["ansible_play_hosts_all"])
            result["hosts"] = {
                name: {"state": blame["state"], "reason": f"{message} {blame['reason']}"}
                for name, blame in blamed.items()
            }
            if arguments["require_nodes"] or not blamed:
                result |= {"failed": True, "msg": message}
        return result
