# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_summary: see the module of that name for its documentation."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail

from ..plugin_utils.contracts import Summary
from ..plugin_utils.controller_action import ControllerAction, needed_packages, show, write_index_of

with needed_packages(__name__):
    from ..plugin_utils.report.query import query, result_text
    from ..plugin_utils.report.side_by_side import side_by_side
    from ..plugin_utils.run.sweep import summary_of


class ActionModule(ControllerAction):
    """Shows the summaries of runs: side by side, or the results of a query."""

    def act(self) -> dict[str, t.Any]:
        """Return the summaries, and the result of the query."""
        arguments = self.arguments()
        summaries = [_summary(run_dir) for run_dir in arguments["run_dirs"]]
        result = None
        if arguments["query"]:
            try:
                result = query(summaries, arguments["query"])
            except ValueError as error:
                raise AnsibleActionFail(str(error)) from None
            show(f"\n{result_text(result)}\n")
        else:
            show("\n" + "\n".join(side_by_side(summaries)) + "\n")
        return {
            "changed": self._page(arguments["page_dir"], arguments["run_dirs"], summaries),
            "summaries": summaries,
            "result": result,
        }

    def _page(self, folder: str, run_dirs: list[str], summaries: list[Summary]) -> bool:
        """Write the page of several runs if requested, and return whether that changed it."""
        if not folder or len(summaries) < 2 or self._task.check_mode:
            return False
        from ..plugin_utils.report.runs_index import RUNS_PAGE, write_runs_page

        page = Path(os.path.abspath(folder)) / RUNS_PAGE
        try:
            changed = write_runs_page(page.parent, run_dirs, summaries)
        except OSError as error:
            raise AnsibleActionFail(f"{page} cannot be written: {error.strerror}.") from None
        show(f"Comparison: {page}\n")
        return write_index_of(page.parent) or changed


def _summary(run_dir: str) -> Summary:
    folder = os.path.abspath(run_dir)
    try:
        summary = summary_of(folder)
    except ValueError as error:
        raise AnsibleActionFail(f"{error}.") from None
    if summary is None:
        raise AnsibleActionFail(f"{folder} has no summary.json. Run trainops.cluster.training_report to write it.")
    return summary
