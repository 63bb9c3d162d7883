# SPDX-License-Identifier: GPL-3.0-or-later
"""Queries over the summaries of runs, and checks of a run's queries and dialects before it trains."""

from __future__ import annotations

import json
import typing as t

import jmespath
from jmespath.exceptions import ArityError, JMESPathTypeError, LexerError, ParseError, UnknownFunctionError

from ..contracts import Finding, Summary
from ..text.words import listed, nearest
from .dialects.known import DIALECTS


def query(summaries: list[Summary], expression: str) -> t.Any:
    """Return the result of a JMESPath expression over the list of summaries.

    Raises ValueError for an invalid expression, with the place of the error.
    """
    try:
        return jmespath.compile(expression).search(summaries)
    except (ArityError, JMESPathTypeError, UnknownFunctionError) as error:
        raise ValueError(f"the query {expression!r} cannot be evaluated: {error}") from None
    except (LexerError, ParseError) as error:
        raise ValueError(_at(expression, error)) from None


def result_text(result: t.Any) -> str:
    """Return the result of a query for a terminal: a text as it is, everything else as JSON."""
    return result if isinstance(result, str) else json.dumps(result, indent=2, ensure_ascii=False)


def _at(expression: str, error: LexerError | ParseError) -> str:
    place = error.lex_position
    if place is None or place >= len(expression):
        found = "it ends too early"
    else:
        found = f"unexpected {error.token_value or expression[place]!r} at character {place + 1}"
    mark = " " * (len(expression) if place is None else place) + "^"
    return f"the query is not a JMESPath expression: {found}\n  {expression}\n  {mark}"


QUERY, DIALECTS_OPTION = "training_query", "training_dialects"


def query_faults(expression: t.Any) -> list[Finding]:
    """Return the fault of an invalid query."""
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
