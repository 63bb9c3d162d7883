# SPDX-License-Identifier: GPL-3.0-or-later
"""The cells of the preflight table.

A *row* is one check of one node: ``node``, ``check``, ``status``, ``found`` (what the node has), and if the status is
red, ``reason`` (why the training would suffer) and ``command`` (what fixes it, or what a person must do). A grey row
could not be judged, or does not apply; ``found`` says why.
"""

from __future__ import annotations

import typing as t

from ..contracts import PreflightRow

GREEN, RED, GREY = "green", "red", "grey"


class Cell(t.NamedTuple):
    """What a check found out about a node."""

    status: str
    found: str
    reason: str = ""
    command: str = ""

    def row(self, node: str, check: str) -> PreflightRow:
        """Return the row of the table that this is."""
        return {
            "node": node,
            "check": check,
            "status": self.status,
            "found": self.found,
            "reason": self.reason,
            "command": self.command,
        }


def green(found: str) -> Cell:
    """Return a cell for what is in order."""
    return Cell(GREEN, found)


def red(found: str, reason: str, command: str) -> Cell:
    """Return a cell for what has to be fixed."""
    return Cell(RED, found, reason, command)


def by_hand(what: str, shown_by: str = "") -> str:
    """Return a manual step, for what no command can fix, and the command that shows more."""
    return f"manual step: {what}" + (f"; to check: {shown_by}" if shown_by else "")


def grey(why: str) -> Cell:
    """Return a cell for what could not be judged, or does not apply."""
    return Cell(GREY, why)
