# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Callback plugin trainops.cluster.training_progress."""

from __future__ import annotations

DOCUMENTATION = r"""
name: training_progress
type: aggregate
short_description: Shows the live progress of a training run, and its verdict at the end
version_added: 1.0.0
author:
  - The trainops.cluster maintainers (@trainops)
description:
  - While M(trainops.cluster.training_phase) follows a run, one line every few seconds shows the step, the time of the
    last step, tokens per second per GPU, the loss and the time remaining, or the problem. Where each node trains by
    itself, the line counts the nodes by their states.
  - After the play recap, shows the result of the run and the path of the report, or the results of a sweep's cells.
    With C(-v), also the evidence for a PASS, and more log lines of a failure.
  - With O(trainops.cluster.training_report#module:host_facts), sets the fact C(training_summary) of each node's host.
  - The playbooks of this collection load it automatically. For your own playbooks, add it to C(callbacks_enabled).
options:
  interval:
    description:
      - Minimum number of seconds between two lines.
    type: float
    default: 3.0
    env:
      - name: TRAINOPS_PROGRESS_INTERVAL
    ini:
      - section: callback_training_progress
        key: interval
"""

import contextlib
import gc
import json
import os
import signal
import sys
import threading
import typing as t
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from ansible import constants as C  # noqa: N812
from ansible.plugins.callback import CallbackBase

from ansible_collections.trainops.cluster.plugins.plugin_utils.controller_action import playbook_command, show
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.side_by_side import sweep_lines
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.interrupt import InterruptHandler
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.live_output import LiveOutput
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.progress import ProgressReader

if t.TYPE_CHECKING:
    from ansible.executor.stats import AggregateStats
    from ansible.executor.task_result import CallbackTaskResult
    from ansible.playbook import Playbook
    from ansible.playbook.play import Play
    from ansible.playbook.task import Task
    from ansible.vars.manager import VariableManager

_PLANS = ("trainops.cluster.training_plan", "trainops.cluster.training_run")
_PHASE = "trainops.cluster.training_phase"
_REPORT = "trainops.cluster.training_report"
_SWEEP_REPORT = "trainops.cluster.training_sweep_report"
_COLORS = {"PASS": "green", "FAIL": "red", "ERROR": "red", "INCONCLUSIVE": "yellow"}


class CallbackModule(CallbackBase):
    """Reports how a run goes, from the run's folder on the controller."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "trainops.cluster.training_progress"
    CALLBACK_NEEDS_ENABLED = False

    def __init__(self) -> None:
        """Begin without a run."""
        super().__init__()
        # Loaded from the folder of the playbooks, it leaves the work to the one that is configured.
        from_playbooks = not __name__.startswith("ansible_collections.")
        self.disabled = from_playbooks and self.CALLBACK_NAME in C.CALLBACKS_ENABLED
        self._run_dir: str | None = None
        self._cells: list[str] = []
        self._watching: list[ProgressReader | InterruptHandler | _ReportModules] = []
        self._reports: list[dict[str, t.Any]] = []
        self._sweep: dict[str, t.Any] | None = None
        self._variables: VariableManager | None = None
        self._output = LiveOutput()

    def v2_runner_on_ok(self, result: CallbackTaskResult) -> None:
        """Learn the run's folder from a phase, and its result from a report."""
        if result.task.action in _PLANS:
            self._run_dir = result.result.get("run_dir")
            if "cells" in result.result:
                self._cells = [cell["run_id"] for cell in result.result["cells"]]
        self._note_report(result)

    def _count_nodes(self, report: Mapping[str, t.Any]) -> None:
        """Count the nodes that did their part as ok: a task ran once for all of them, and counts for the first."""
        if stats := _stats():
            for node in set(report["nodes"]) - set(report.get("hosts", ())) - set(stats.processed):
                stats.increment("ok", node)

    def _set_facts(self, report: Mapping[str, t.Any]) -> None:
        """Set each node's result as a fact of its host: a task would take a process, or a line, for each host."""
        if not report.get("facts_set") or self._variables is None:
            return
        # It needs packages that Ansible itself does not have; where a report was made, they are installed.
        from ansible_collections.trainops.cluster.plugins.plugin_utils.report.essence import nodes_of  # noqa: PLC0415

        summary = json.loads(Path(report["report"]).with_name("summary.json").read_text(encoding="utf-8"))
        for node in nodes_of(summary):
            if node["node"] in report["nodes"]:
                # As set_fact does with cacheable.
                self._variables.set_host_facts(node["node"], {"training_summary": node})
                self._variables.set_nonpersistent_facts(node["node"], {"training_summary": node})

    def v2_playbook_on_play_start(self, play: Play) -> None:
        """Learn where the facts of hosts are kept."""
        self._variables = play.get_variable_manager()

    def _note_report(self, result: CallbackTaskResult, ignore_errors: bool = False) -> None:  # noqa: ARG002
        """Learn the result of a run, or of one of several, from a report; stop following a phase that has ended."""
        self._end_reading()
        if result.task.action == _REPORT and "verdict" in result.result:
            self._reports.append(dict(result.result))
            self._count_nodes(result.result)
            self._set_facts(result.result)
        elif result.task.action == _SWEEP_REPORT and "counts" in result.result:
            self._sweep = dict(result.result)

    v2_runner_on_failed = v2_runner_item_on_ok = v2_runner_item_on_failed = _note_report

    def v2_playbook_on_task_start(self, task: Task, is_conditional: bool) -> None:  # noqa: ARG002
        """Begin to read the run's folder when its nodes are followed."""
        # The task's process shares this memory: a garbage collection would copy it page by page.
        gc.freeze()
        self._end_reading()
        follows = task.action == _PHASE and task.args.get("phase") == "train" and not task.check_mode
        if follows and self._run_dir:
            self._watching = [
                ProgressReader(self._run_dir, self.get_option("interval"), show, self._place()),
                InterruptHandler(self._run_dir, playbook_command, show),
                _ReportModules(),
            ]
            for one in self._watching:
                one.start()

    def v2_playbook_on_start(self, playbook: Playbook) -> None:  # noqa: ARG002
        """Forget earlier runs, and from now on show each line as it is written."""
        self._reports, self._sweep, self._cells = [], None, []
        self._output = LiveOutput()
        self._output.start()

    def v2_playbook_on_stats(self, stats: AggregateStats) -> None:  # noqa: ARG002
        """Report the verdicts, or the sweep that they are part of."""
        self._end_reading()
        self._output.end()
        if self._sweep:
            _show(sweep_lines(self._sweep["report"]), "green" if list(self._sweep["counts"]) == ["PASS"] else "red")
            return
        if not self._reports:
            return
        # It needs packages that Ansible itself does not have; where a report was made, they are installed.
        from ansible_collections.trainops.cluster.plugins.plugin_utils.report.text import verdict_lines  # noqa: PLC0415

        verbose = self._display.verbosity > 0
        for report in self._reports:
            colours = {"verdict": _COLORS[report["verdict"]], "warning": "yellow", "": None}
            for line in verdict_lines(report["report"], verbose=verbose):
                show(line.text, colours[line.tone])

    def _place(self) -> str:
        """Return which cell of a sweep the run is, if it is one."""
        run_id = os.path.basename(self._run_dir or "")
        return f"cell {self._cells.index(run_id) + 1} of {len(self._cells)}" if run_id in self._cells else ""

    def _end_reading(self) -> None:
        for one in self._watching:
            one.end()
        self._watching = []


class _ReportModules:
    """Imports the modules of a report while the training runs, so that the process that writes it starts with them.

    That process is a fork of this one, so `end` waits until nothing is half imported. On macOS, libraries that numpy
    loads may not be used after a fork.
    """

    def __init__(self) -> None:
        self._thread = threading.Thread(target=self._import, daemon=True)

    def start(self) -> None:
        if sys.platform == "linux":
            self._thread.start()

    def end(self) -> None:
        if self._thread.is_alive():
            self._thread.join()

    @staticmethod
    def _import() -> None:
        # The report itself names packages that are not installed.
        with contextlib.suppress(Exception):
            import_module("ansible_collections.trainops.cluster.plugins.plugin_utils.report.write")


def _stats() -> AggregateStats | None:
    """Return Ansible's counts by host through its handler of SIGTERM: callbacks get them only after the recap."""
    return getattr(getattr(signal.getsignal(signal.SIGTERM), "__self__", None), "_stats", None)


def _show(lines: list[str], color: str) -> None:
    """Show lines, the first one in a colour."""
    for number, line in enumerate(lines):
        show(line, None if number else color)
