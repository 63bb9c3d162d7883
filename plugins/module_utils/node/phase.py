# SPDX-License-Identifier: GPL-3.0-or-later
"""The common parts of the phases of a run on one node.

Each takes a request and returns a plain answer, in one round trip. A request contains the values of `request_of`, and
the phase's own. `NodeError` says what is wrong on this node.

A phase is a module of its own that imports no more than it needs: a node pays for each in every round trip.
"""

from __future__ import annotations

import os
import typing as t

from .problems import Problem, in_words

if t.TYPE_CHECKING:
    from .contracts import Identity, Node, Request

Answer = t.Dict[str, t.Any]

# The data that the node wrote down when it was staged, and does not need again.
_ONLY_STAGED = ("files",)


def add_environment(variables: dict[str, str]) -> None:
    """Set variables of the user for this process and all that it starts, one after the other.

    ``$PATH`` and the like in them are resolved here, and may refer to an earlier one.
    """
    for name, value in variables.items():
        os.environ[name] = os.path.expandvars(value)


def request_of(plan: t.Mapping[str, t.Any], node: t.Mapping[str, t.Any], phase: str, identity: Identity) -> Request:
    """Return the request of a phase on a node of a plan, without the phase's own needs."""
    return {
        "phase": phase,
        "run_id": plan["run_id"],
        "framework": plan.get("log_grammar", plan["framework"]),
        "container_engine": plan["container_engine"],
        "identity": identity,
        "tokens_per_step_per_gpu": plan["tokens_per_step_per_gpu"],
        "tokens_per_sequence_per_gpu": plan["tokens_per_sequence_per_gpu"],
        "node": _without_staged(node),
    }


def _without_staged(node: t.Mapping[str, t.Any]) -> Node:
    return t.cast("Node", {name: value for name, value in node.items() if name not in _ONLY_STAGED})


class NodeError(Exception):
    """The reason why a phase cannot be done on a node: a sentence for people, and the ``problems`` behind it, if known.

    An answer repeats the ``kind``.
    """

    kind: t.Mapping[str, t.Any] = {}

    def __init__(self, message: str = "", problems: t.Iterable[Problem] = ()) -> None:
        """Take problems, or the words of another program."""
        self.problems = list(problems)
        super().__init__(message or in_words(self.problems))


class NodeHeldError(NodeError):
    """Other runs hold this node, ``by`` their run_ids; one that is not ``running`` may still give it up."""

    def __init__(self, by: list[str], running: bool, problems: t.Iterable[Problem], message: str = "") -> None:
        """Say who holds the node."""
        super().__init__(message, problems)
        self.by, self.running = by, running
        self.kind = {"held_by": by, "running": running}


class RunGoneError(NodeError):
    """This node's record of the run is gone."""

    kind: t.Mapping[str, t.Any] = {"gone": True}
