# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Callback plugin trainops.cluster.training_output."""

from __future__ import annotations

DOCUMENTATION = r"""
name: training_output
type: stdout
short_description: The output of Ansible in short, for runs on many nodes
version_added: 1.0.0
author:
  - The trainops.cluster maintainers (@trainops)
description:
  - Without C(-v), shows what changed, failed or warned in a line each. Tasks that changed nothing are left out, but
    messages of M(ansible.builtin.debug) are shown. Hosts with the same counts share a line of the recap.
  - With C(-v), P(ansible.builtin.default#callback) prints the output, and all of its options apply.
  - The C(ansible.cfg) of this collection's repository selects it. Elsewhere, set C(stdout_callback), for example with
    C(ANSIBLE_STDOUT_CALLBACK=trainops.cluster.training_output).
extends_documentation_fragment:
  - default_callback
  - result_format_callback
"""

import typing as t
from collections.abc import Iterable, MutableMapping

from ansible import constants as C  # noqa: N812
from ansible.plugins.callback.default import CallbackModule as Default

if t.TYPE_CHECKING:
    from ansible.executor.stats import AggregateStats
    from ansible.executor.task_result import CallbackTaskResult
    from ansible.playbook.play import Play
    from ansible.playbook.task import Task

_HIDDEN = ("display_ok_hosts", "display_skipped_hosts")
_MESSAGE = "ansible.builtin.debug"
_OURS = "trainops.cluster."
_FOLLOWS = "trainops.cluster.training_phase"
# Hosts that a run failed on share a line where the reason is the same.
_OF_HOSTS = "trainops.cluster.training_node_result"
# The counts of a host, by their names in the recap.
_COUNTS = {
    "ok": ("ok", C.COLOR_OK),
    "changed": ("changed", C.COLOR_CHANGED),
    "unreachable": ("unreachable", C.COLOR_UNREACHABLE),
    "failures": ("failed", C.COLOR_ERROR),
    "skipped": ("skipped", C.COLOR_SKIP),
    "rescued": ("rescued", C.COLOR_OK),
    "ignored": ("ignored", C.COLOR_WARN),
}
_ALWAYS = ("ok", "changed", "unreachable", "failures")


class _OfHost(t.NamedTuple):
    """Why a host is failed or unreachable; ``cause`` is the code of why ssh did not reach it, if that is known."""

    state: str
    host: str
    reason: str
    cause: str = ""


class CallbackModule(Default):
    """Ansible's own output, in full only with ``-v``."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "trainops.cluster.training_output"

    # Whether the result being shown is meant to be read, like a message of debug.
    _in_full = False

    def __init__(self) -> None:
        """Begin without hosts that a run failed on."""
        super().__init__()
        self._of_hosts: list[_OfHost] = []
        # Shown after the last step of a training that was followed.
        self._changed: list[str] = []

    def get_option(self, k: str, hostvars: dict[str, t.Any] | None = None) -> t.Any:
        """Return an option of the default callback; output hidden here is hidden there too."""
        hidden = k in _HIDDEN and self._is_short() and not self._in_full
        return False if hidden else super().get_option(k, hostvars)

    def v2_playbook_on_play_start(self, play: Play) -> None:
        """Keep the heading of a play until something is shown below it."""
        self._show_hosts()
        if self._is_short():
            self._play = play
        else:
            super().v2_playbook_on_play_start(play)

    def v2_playbook_on_task_start(self, task: Task, is_conditional: bool) -> None:
        """First show the previous task's results."""
        self._show_hosts()
        super().v2_playbook_on_task_start(task, is_conditional)

    def v2_playbook_on_no_hosts_matched(self) -> None:
        """Say of a play without hosts nothing, as of one that changes nothing."""
        if not self._is_short():
            super().v2_playbook_on_no_hosts_matched()

    def v2_playbook_on_include(self, included_file: t.Any) -> None:
        """Leave out which file of tasks comes next."""
        if not self._is_short():
            super().v2_playbook_on_include(included_file)

    def v2_runner_on_ok(self, result: CallbackTaskResult) -> None:
        """Show a changed task as one line with its name, and a task's own message in full."""
        changed = result.result.get("changed", False)
        self._in_full = self._is_message(result)
        of_items = result.task.loop and not self._is_ours(result)
        if self._in_full or not self._is_short() or (changed and of_items):
            super().v2_runner_on_ok(result)
            self._in_full = False
            return
        self._handle_warnings_and_exception(result)
        if not changed or of_items:
            return
        self._changed.append(f"changed: [{self.host_label(result)}] {_name(result.task)}")
        if result.task.action != _FOLLOWS:
            self._show_changed()

    def v2_runner_item_on_ok(self, result: CallbackTaskResult) -> None:
        """Show an item that a task changed, or says; of a task of this collection, the task itself says that."""
        if self._is_short() and self._is_ours(result):
            self._handle_warnings_and_exception(result)
            return
        self._in_full = self._is_message(result)
        super().v2_runner_item_on_ok(result)
        self._in_full = False

    def v2_runner_item_on_failed(self, result: CallbackTaskResult) -> None:
        """Show why a task of this collection failed for an item, without the rest of its result."""
        message = result.result.get("msg")
        if not self._is_short() or not self._is_ours(result) or not message:
            super().v2_runner_item_on_failed(result)
            return
        self._handle_warnings_and_exception(result)
        self._show_failed(f"[{self.host_label(result)}] {_name(result.task)}: {self._label(result)}: {message}")

    def v2_runner_on_failed(self, result: CallbackTaskResult, ignore_errors: bool = False) -> None:
        """Show why a task of this collection failed once; of others all is shown that may explain it."""
        message = result.result.get("msg")
        if self._is_of_hosts(result):
            self._of_hosts.append(_OfHost("failed", self.host_label(result), str(message)))
            return
        if self._is_short() and self._is_ours(result) and "results" in result.result:
            # Each item has shown why.
            return
        if not self._is_short() or not self._is_ours(result) or result.task.loop or not message:
            super().v2_runner_on_failed(result, ignore_errors)
            return
        self._handle_warnings_and_exception(result)
        self._show_failed(f"[{self.host_label(result)}] {_name(result.task)}: {message}")
        if ignore_errors:
            self._display.display("...ignoring", color=C.COLOR_SKIP)

    def v2_runner_on_unreachable(self, result: CallbackTaskResult) -> None:
        """Keep why a host could not be reached, to show hosts with the same cause together."""
        host, message = self.host_label(result), str(result.result.get("msg"))
        if self._is_of_hosts(result):
            cause = str(result.result.get("cause", ""))
            self._of_hosts.append(_OfHost("unreachable", host, message, cause))
        elif self._is_short() and (why := _why_unreachable(message)):
            self._of_hosts.append(_OfHost("unreachable", host, *why))
        else:
            super().v2_runner_on_unreachable(result)

    def v2_playbook_on_stats(self, stats: AggregateStats) -> None:
        """Show the counts of all hosts, those with the same ones together."""
        self._show_hosts()
        custom = stats.custom and self.get_option("show_custom_stats")
        if not self._is_short() or custom:
            super().v2_playbook_on_stats(stats)
            return
        alike: dict[tuple[int, ...], list[str]] = {}
        for host in sorted(stats.processed):
            counts = stats.summarize(host)
            alike.setdefault(tuple(counts[name] for name in _COUNTS), []).append(host)
        rows = [(_folded(hosts), counts) for counts, hosts in alike.items()]
        width = max((len(hosts) for hosts, _counts in rows), default=0)
        self._display.banner("PLAY RECAP")
        for hosts, counts in rows:
            found = dict(zip(_COUNTS, counts, strict=True))
            told = [f"{_COUNTS[name][0]}={n}" for name, n in found.items() if n or name in _ALWAYS]
            self._display.display(f"{hosts:<{width}} : {' '.join(told)}", color=_colour(found))
        self._display.display("", screen_only=True)

    def _handle_exception(self, result: MutableMapping[str, t.Any], use_stderr: bool = False) -> None:
        """Show the failed task's file and line only in full output: its message already says why it failed."""
        if self._is_short():
            result.pop("exception", None)
        else:
            super()._handle_exception(result, use_stderr)

    def _show_failed(self, text: str) -> None:
        self._display.display(f"failed: {text}", color=C.COLOR_ERROR, stderr=self.get_option("display_failed_stderr"))

    def _label(self, result: CallbackTaskResult) -> str:
        """Return the label that the task's loop_control gives an item."""
        return str(self._get_item_label(result.result))

    @staticmethod
    def _is_ours(result: CallbackTaskResult) -> bool:
        return str(result.task.action).startswith(_OURS)

    def _is_of_hosts(self, result: CallbackTaskResult) -> bool:
        return self._is_short() and str(result.task.action) == _OF_HOSTS and not result.task.loop

    def _show_hosts(self) -> None:
        """Show the hosts that a run failed on, those with the same reason in one line."""
        self._show_changed()
        for state, colour in (("failed", C.COLOR_ERROR), ("unreachable", C.COLOR_UNREACHABLE)):
            hosts = [one for one in self._of_hosts if one.state == state]
            texts = [(one.host, f"{state}: [{one.host}] {one.reason}") for one in hosts]
            for line in _folded_messages(texts, {one.host: one.cause for one in hosts}):
                self._display.display(line, color=colour, stderr=self.get_option("display_failed_stderr"))
        self._of_hosts = []

    def _show_changed(self) -> None:
        for line in self._changed:
            self._display.display(line, color=C.COLOR_CHANGED)
        self._changed = []

    def _is_message(self, result: CallbackTaskResult) -> bool:
        return bool(result.task.resolved_action == _MESSAGE and self._run_is_verbose(result))

    def _is_short(self) -> bool:
        return bool(self._display.verbosity == 0)


def _name(task: Task) -> str:
    """Return the name of a task without its role's name."""
    name = str(task.get_name()).strip()
    return name.rpartition(" : ")[2] or name


def _colour(counts: dict[str, int]) -> str:
    """Return the colour of the gravest count."""
    grave = next((name for name in ("failures", "unreachable", "changed") if counts[name]), "ok")
    return str(_COUNTS[grave][1])


def _folded(hosts: Iterable[str]) -> str:
    """Return the names of hosts with their numbers folded, if the package for that is installed."""
    try:
        from ansible_collections.trainops.cluster.plugins.plugin_utils.text.nodes import (  # noqa: PLC0415
            folded,
        )
    except ImportError:
        return ",".join(hosts)
    return folded(hosts)


def _folded_messages(texts: list[tuple[str, str]], causes: dict[str, str]) -> list[str]:
    """Return the texts of hosts, equal texts merged if the package for that is installed."""
    try:
        from ansible_collections.trainops.cluster.plugins.plugin_utils.text.nodes import (  # noqa: PLC0415
            folded_messages,
        )
    except ImportError:
        return [text for _host, text in texts]
    return folded_messages(texts, causes)


def _why_unreachable(message: str) -> tuple[str, str] | None:
    """Return why Ansible did not reach a host with what to do, and the code of the cause; None without the packages."""
    try:
        from ansible_collections.trainops.cluster.plugins.plugin_utils.text.problems import (  # noqa: PLC0415
            cause_of,
            why_unreachable,
        )
        from ansible_collections.trainops.cluster.plugins.plugin_utils.unreachable import (  # noqa: PLC0415
            unreachable,
        )
    except ImportError:
        return None
    problem = unreachable(message)
    why, remedy = why_unreachable(problem)
    return f"{why}.\n  What to do: {remedy}", cause_of([problem])
