# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of a node that it does not report itself; for those that it does see `module_utils.node.phase`."""

from __future__ import annotations

import typing as t

from ...module_utils.node.phase import NodeError
from ...module_utils.node.problems import Problem
from ..text.problems import in_words


class NodeLostError(NodeError):
    """A node does not answer."""


class NodeEndedError(NodeLostError):
    """A node will not answer any more."""


def refused(*problems: Problem) -> NodeError:
    """Return the error of a node that has problems."""
    return NodeError(in_words(problems), problems)


def lost(problem: Problem) -> NodeLostError:
    """Return the error of a node that does not answer."""
    return NodeLostError(in_words([problem]), [problem])


def ended(problem: Problem) -> NodeEndedError:
    """Return the error of a node that will not answer any more."""
    return NodeEndedError(in_words([problem]), [problem])


class Said(t.TypedDict):
    """What a status of a node says: a sentence, and the problems behind it, if they are known."""

    message: str
    problems: list[Problem]


NOTHING: t.Final[Said] = {"message": "", "problems": []}


def said_by(error: Exception) -> Said:
    """Return a node's status entries for an error."""
    return {"message": str(error), "problems": error.problems if isinstance(error, NodeError) else []}


def said_of(problem: Problem) -> Said:
    """Return a node's status entries for a problem."""
    return {"message": in_words([problem]), "problems": [problem]}
