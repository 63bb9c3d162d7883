# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_run: see the module of that name for its documentation."""

from __future__ import annotations

import os
import typing as t

from ansible.errors import AnsibleActionFail

from ..plugin_utils.controller_action import ControllerAction
from ..plugin_utils.run.board import Board
from ..plugin_utils.run.runs import known_runs


class ActionModule(ControllerAction):
    """Finds a run in the controller's folder of runs."""

    def act(self) -> dict[str, t.Any]:
        """Return the plan of the run, or fail with the runs that there are."""
        self.refuse_unknown()
        arguments = self.arguments()
        run_id, output_dir = arguments["run_id"], os.path.abspath(arguments["output_dir"])
        runs = known_runs(output_dir)
        if run_id not in runs:
            found = f"{output_dir} has no run {run_id!r}" if run_id else "No run was named"
            latest = f"Latest runs in {output_dir}: {', '.join(runs[-5:])}"
            if not runs:
                latest = f"{output_dir} has no runs; set -e training_output_dir=DIR to use another folder"
            lost = (
                " If the run is still on its nodes, play attach.yml with -e training_config=FILE as well."
                if run_id
                else ""
            )
            raise AnsibleActionFail(f"{found}. Set -e training_run_id=NAME. {latest}.{lost}")
        plan = Board(os.path.join(output_dir, run_id)).plan()
        return {
            "changed": False,
            "plan": plan,
            "run_dir": os.path.join(output_dir, run_id),
            "run_id": run_id,
            "nodes": [node["node"] for node in plan["nodes"]],
        }
