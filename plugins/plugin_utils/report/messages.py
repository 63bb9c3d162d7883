# SPDX-License-Identifier: GPL-3.0-or-later
"""What a summary says, each different message once."""

from __future__ import annotations

import itertools
import json
import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..contracts import Reason
from ..text.catalogue import VERDICT
from ..text.folding import Told, told
from ..text.nodes import folded

# Limits of a finding for programs: AWX keeps these with each job.
_MOST_NODES, _MOST_CHARACTERS = 16, 800


def reasons_of(reasons: Sequence[Reason]) -> list[tuple[str, str]]:
    """Return each message and its code, gravest first; what several nodes share comes once."""
    return [(one.message, one.code) for _verdict, one in _told(reasons)]


def findings_of(reasons: Sequence[Reason], most: int) -> list[dict[str, t.Any]]:
    """Return the first of `reasons_of` for programs: each with verdict, code, case, nodes, values and message.

    ``nodes`` are at most 16 of the ``node_count``, and ``values`` those of the first node, if they are short.
    """
    return [
        {
            "verdict": verdict,
            "code": one.code,
            "case": one.case,
            "nodes": list(one.nodes[:_MOST_NODES]),
            "node_count": len(one.nodes),
            "values": one.values if len(json.dumps(one.values)) <= _MOST_CHARACTERS else {},
            "message": one.message,
        }
        for verdict, one in itertools.islice(_told(reasons), most)
    ]


def _told(reasons: Sequence[Reason]) -> Iterator[tuple[str | None, Told]]:
    for verdict, group in itertools.groupby(reasons, lambda reason: reason.get("verdict")):
        yield from ((verdict, one) for one in told(VERDICT, group))


def messages_of(reasons: Sequence[Reason]) -> list[str]:
    """Return the messages of `reasons_of`."""
    return [message for message, _code in reasons_of(reasons)]


def echoes_of(echoes: Iterable[Mapping[str, t.Any]], *names: str) -> list[tuple[str, ...]]:
    """Return the failures that followed: the folded nodes, and the values under ``names`` that they share."""
    nodes: dict[tuple[str, ...], list[str]] = {}
    for echo in echoes:
        nodes.setdefault(tuple(echo[name] for name in names), []).append(echo["node"])
    return [(folded(found), *same) for same, found in nodes.items()]
