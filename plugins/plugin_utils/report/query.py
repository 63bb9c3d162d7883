# SPDX-License-Identifier: GPL-3.0-or-later
"""Queries: a JMESPath expression over the summaries of runs."""

from __future__ import annotations

import json
import typing as t

import jmespath
from jmespath.exceptions import ArityError, JMESPathTypeError, LexerError, ParseError, UnknownFunctionError

from ..contracts import Summary


def query(summaries: list[Summary], expression: str) -> t.Any:
    """Return what a JMESPath expression finds in the list of summaries.

    Raises ValueError for an invalid one, with the place of the error.
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
