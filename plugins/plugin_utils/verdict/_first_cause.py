# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first cause of a failed run: which node failed first, and how, among all that failed after it."""

from __future__ import annotations

import math
import typing as t

from ansible_collections.trainops.cluster.plugins.plugin_utils.run._status import has_failed

if t.TYPE_CHECKING:
    from collections.abc import Iterable

# Where a node's log has no failure text, its end is what is known. On the scale of the log signatures: a process
# that is gone without an exit status was killed from outside, which is nearer to a cause than a bare exit status.
_KILLED = 25
_LOST = 26
_EXIT_STATUS = 58
_STALLED = 59

_EXIT_STATUS_OF_SIGKILL = 137

Failure = dict[str, t.Any]


def first_failure(statuses: Iterable[dict[str, t.Any]]) -> Failure | None:
    """Return the first failure of a run, or None where no node failed.

    ``node``, ``node_rank``, ``class``, ``message``, ``evidence`` (lines), ``remedy``, ``exit_code``, and ``echoes``:
    the failures of other nodes that only follow from it. The order is that of blame; the clock decides between equals.
    """
    candidates = [candidate for status in statuses for candidate in _candidates(status)]
    if not any(candidate["failed"] for candidate in candidates):
        return None
    candidates.sort(key=lambda candidate: (candidate["echo"], candidate["blame"], candidate["ended_at"]))
    first = candidates[0]
    echoes: dict[str, Failure] = {}
    for candidate in candidates[1:]:
        if candidate["node"] != first["node"]:
            echoes.setdefault(candidate["node"], candidate)
    told = ("node", "node_rank", "class", "message", "evidence", "remedy", "exit_code")
    return {
        **{name: first[name] for name in told},
        "echoes": [{name: echo[name] for name in ("node", "class", "message")} for echo in echoes.values()],
    }


def _candidates(status: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    failed = has_failed(status)
    common = {
        "node": status["node"],
        "node_rank": status.get("node_rank"),
        "exit_code": status.get("exit_status"),
        "ended_at": status.get("ended_at") or math.inf,
        "failed": failed,
    }
    found = [
        {
            **common,
            "class": failure["class"],
            "blame": failure["blame"],
            "echo": failure["echo"],
            "message": failure["line"],
            "evidence": _around(failure["line"], status.get("last_lines", [])),
            "remedy": failure["remedy"],
        }
        for failure in status.get("failures", [])
    ]
    if not failed:
        return found
    only_echoes = bool(found) and all(candidate["echo"] for candidate in found)
    end = _end_of(status)
    return [*found, {**common, **end, "echo": only_echoes and end["class"] == "exit_status"}]


def _end_of(status: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return what the end of a node says of itself. A node whose log tells of echoes only is one with them."""
    evidence = status.get("last_lines", [])
    if status["status"] == "killed" or status.get("exit_status") == _EXIT_STATUS_OF_SIGKILL:
        return {
            "class": "killed",
            "blame": _KILLED,
            "message": "The training was killed (SIGKILL).",
            "evidence": evidence,
            "remedy": "Look for the out-of-memory killer (dmesg), another user or a scheduler on that node.",
        }
    if status["status"] == "unreachable":
        return {
            "class": "unreachable",
            "blame": _LOST,
            "message": f"The node did not answer any more: {status.get('message', '')}",
            "evidence": evidence,
            "remedy": "Look whether the node is up and its management network works.",
        }
    if status["status"] == "stalled":
        return {
            "class": "stalled",
            "blame": _STALLED,
            "message": f"The training hung: {status.get('message', '')}.",
            "evidence": evidence,
            "remedy": "Look at the last lines of every node: the one that is a step behind holds the others up.",
        }
    return {
        "class": "exit_status",
        "blame": _EXIT_STATUS,
        "message": f"The training ended with exit status {status.get('exit_status')}.",
        "evidence": evidence,
        "remedy": "Read the last lines of its log.",
    }


def _around(line: str, last_lines: list[str]) -> list[str]:
    """Return the last lines of a log where they hold the evidence, or else the evidence alone."""
    return last_lines if any(line in candidate for candidate in last_lines) else [line]
