# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run is asked to report, checked before it trains."""

from __future__ import annotations

import typing as t

from ..contracts import Finding
from ..text.words import listed, nearest
from .dialects.known import DIALECTS
from .query import query

QUERY, DIALECTS_OPTION = "training_query", "training_dialects"


def query_faults(expression: t.Any) -> list[Finding]:
    """Return the fault of a query that cannot be read."""
    if not isinstance(expression, str) or not expression.strip():
        return []
    try:
        query([], expression)
    except ValueError as error:
        reason = str(error).splitlines()[0]
        message = f"{reason[0].upper()}{reason[1:]}."
        remedy = "Fix it, for example [].{run: run_id, verdict: verdict}; jmespath.org has a tutorial."
        return [{"key": QUERY, "value": expression, "message": message, "remedy": remedy}]
    return []


def dialect_faults(names: t.Any) -> list[Finding]:
    """Return a fault for each dialect that does not exist."""
    given = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    if not isinstance(given, list):
        return []
    faults: list[Finding] = []
    for name in given:
        if name and name not in DIALECTS:
            near = nearest(str(name), DIALECTS)
            hint = f"Did you mean {near}? " if near else ""
            message, remedy = f"There is no dialect {name}.", f"{hint}There are {listed(DIALECTS)}."
            faults.append({"key": DIALECTS_OPTION, "value": name, "message": message, "remedy": remedy})
    return faults
