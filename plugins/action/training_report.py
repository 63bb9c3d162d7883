# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_report: see the module of that name for its documentation."""

from __future__ import annotations

import os
import typing as t

from ansible.errors import AnsibleActionFail

from ..plugin_utils.contracts import Summary
from ..plugin_utils.controller_action import (
    ControllerAction,
    is_shown_by_callback,
    needed_packages,
    own_call,
    playbook_command,
    reason_of,
    show,
    write_index_of,
)

with needed_packages(__name__):
    from ..plugin_utils.report.dialects.known import writer_of
    from ..plugin_utils.report.failures import messages_of
    from ..plugin_utils.report.files import INDEX, PAGE
    from ..plugin_utils.run.blame import blame_of_run, nobody_is_blamed
    from ..plugin_utils.run.board import Board
    from ..plugin_utils.run.whole_file import NotWrittenError
    from ..plugin_utils.text.words import counted

COLOURS = {"PASS": "green", "FAIL": "red", "ERROR": "red", "INCONCLUSIVE": "yellow"}


class ActionModule(ControllerAction):
    """Judges a run on the controller, once for all hosts, and writes its report."""

    def act(self) -> dict[str, t.Any]:
        """Return the verdict; fail unless it is PASS, or another is as welcome."""
        arguments = self.arguments()
        run_dir = os.path.abspath(arguments["run_dir"])
        if self._task.check_mode:
            return {"changed": False, "skipped": True, "msg": "not run in check mode"}
        from ..plugin_utils.report.write import write_report

        for name in arguments["dialects"]:
            writer_of(name)
        try:
            summary, changed = write_report(
                run_dir,
                arguments["warmup_steps"],
                arguments["history_dir"] or None,
                arguments["dialects"],
                arguments["straggler_deviations"],
                f"../{INDEX}" if arguments["index"] else "",
                self._isolate_command(run_dir),
                own_call(os.path.dirname(run_dir)),
            )
        except NotWrittenError as error:
            of_logs = Board(run_dir).plan().get("logs")
            again = "the same command again" if of_logs else playbook_command("attach", run_dir)
            message = f"The report cannot be written: {error.filename}: {error.strerror}. Fix that, then run {again}"
            raise AnsibleActionFail(message) from None
        except (ValueError, OSError) as error:
            raise AnsibleActionFail(f"The report cannot be written: {reason_of(error)}.") from None
        if arguments["index"]:
            changed = write_index_of(os.path.dirname(run_dir)) or changed
        hosts = set(self.variables["ansible_play_hosts_all"])
        verdict, report = summary["verdict"], os.path.join(run_dir, PAGE)
        if not is_shown_by_callback():
            _show_verdict(verdict, report, verbose=self._display.verbosity > 0)
        result: dict[str, t.Any] = {
            "changed": changed,
            "verdict": verdict,
            "run_id": summary["run_id"],
            "report": report,
            "reasons": messages_of(summary["reasons"]),
            "nodes": [node["node"] for node in summary["nodes"] if node["node"] in hosts],
            "facts_set": arguments["host_facts"] and self._sets_facts(summary),
        }
        if verdict != "PASS" and arguments["require_pass"]:
            result["hosts"] = blame_of_run(Board(run_dir), summary, hosts)
            if result["hosts"] and not arguments["require_nodes"]:
                return result
            result |= {"failed": True, "msg": _failure_text(summary)}
        return result

    def _isolate_command(self, run_dir: str) -> str:
        """Return the command that tests the nodes of the run; empty if they are not in the inventory."""
        nodes = [node["node"] for node in Board(run_dir).plan()["nodes"]]
        inventory = self.variables["hostvars"]
        return playbook_command("isolate", run_dir) if all(node in inventory for node in nodes) else ""

    def _sets_facts(self, summary: Summary) -> bool:
        """Return whether the callback sets the facts: it is loaded, and the nodes are not hosts of other plays."""
        hosts, inventory = set(self.variables["ansible_play_hosts_all"]), self.variables["hostvars"]
        return is_shown_by_callback() and all(
            node["node"] in hosts for node in summary["nodes"] if node["node"] in inventory
        )


def _show_verdict(verdict: str, report: str, *, verbose: bool) -> None:
    from ..plugin_utils.report.text import verdict_lines

    colours = {"verdict": COLOURS[verdict], "warning": "yellow", "": None}
    for line in verdict_lines(report, verbose=verbose):
        show(line.text, colours[line.tone])


def _failure_text(summary: Summary) -> str:
    first = summary["first_failure"]
    if first and nobody_is_blamed(first):
        return f"{summary['verdict']}: {first['message']}"
    if first:
        rank = "" if first["node_rank"] is None else f" (node rank {first['node_rank']})"
        return f"{summary['verdict']}: first failure on {first['node']}{rank}, {first['class']}: {first['message']}"
    message, *more = messages_of(summary["reasons"])
    others = f" (and {counted(len(more), 'more reason')})" if more else ""
    return f"{summary['verdict']}: {message}{others}"
