# SPDX-License-Identifier: GPL-3.0-or-later
"""The cells of the preflight table.

A *row* is one check of one node: ``node``, ``check``, ``status``, and the finding with its ``code``, ``case`` and
``values``. `text.preflight` puts that into words: ``found`` describes the node; if the status is red, ``reason`` is why
the training would suffer, and ``command`` the fix, or the task for a person. A yellow row has both as well: the node
can train, but a setting costs speed. A grey row could not be judged, or does not apply; ``found`` says why.
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping

from ...module_utils.node.problems import Problem, problem
from ..contracts import Call, PreflightRow
from ..text.preflight import cell_in_words
from ..text.problems import SOME_CALL

GREEN, YELLOW, RED, GREY = "green", "yellow", "red", "grey"


class Cell(t.NamedTuple):
    """What a check found out about a node; ``remedy`` selects the advice, see `text.preflight.CellForm`."""

    status: str
    code: str
    case: str
    values: Mapping[str, t.Any]
    remedy: str = ""

    def row(self, node: str, check: str, call: Call = SOME_CALL) -> PreflightRow:
        """Return the row of the table that this is."""
        found, reason, command = cell_in_words(self.code, self.case, self.values, self.remedy, call, node)
        return {
            "node": node,
            "check": check,
            "status": self.status,
            "code": self.code,
            "case": self.case,
            "values": dict(self.values),
            "found": found,
            "reason": reason,
            "command": command,
        }


def problems_of_red(rows: Iterable[PreflightRow]) -> dict[str, Problem]:
    """Return the problem of each node with a red cell: ``checks`` has the code of each such check by its name."""
    red: dict[str, list[PreflightRow]] = {}
    for row in rows:
        if row["status"] == RED:
            red.setdefault(row["node"], []).append(row)
    return {
        node: problem(
            "preflight_red",
            checks={row["check"]: row["code"] for row in of_node},
            reasons="; ".join(f"{row['check']}: {row['reason']}" for row in of_node),
        )
        for node, of_node in red.items()
    }


def green(code: str, case: str = "", **values: t.Any) -> Cell:
    """Return a cell for a passed check."""
    return Cell(GREEN, code, case, values)


def red(code: str, case: str = "", *, remedy: str = "", **values: t.Any) -> Cell:
    """Return a cell for a failed check."""
    return Cell(RED, code, case, values, remedy)


def yellow(code: str, case: str = "", *, remedy: str = "", **values: t.Any) -> Cell:
    """Return a cell for a setting that costs speed, but stops no training."""
    return Cell(YELLOW, code, case, values, remedy)


def grey(code: str, case: str = "", **values: t.Any) -> Cell:
    """Return a cell for a check that could not be judged, or does not apply."""
    return Cell(GREY, code, case, values)


def not_known(said: str | None) -> Cell:
    """Return a cell for a check without a result, with the inspection's own explanation, if it gave one."""
    return grey("unknown", "said", said=said) if said else grey("unknown")
