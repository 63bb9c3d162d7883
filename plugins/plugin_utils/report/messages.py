# SPDX-License-Identifier: GPL-3.0-or-later
"""What a summary says, each different message once."""

from __future__ import annotations

import itertools
import typing as t
from collections.abc import Iterable, Mapping, Sequence

from ..contracts import Reason
from ..text.catalogue import VERDICT
from ..text.folding import told
from ..text.nodes import folded


def reasons_of(reasons: Sequence[Reason]) -> list[tuple[str, str]]:
    """Return each message and its code, gravest first; what several nodes share comes once."""
    return [
        (one.message, one.code)
        for _verdict, group in itertools.groupby(reasons, lambda reason: reason.get("verdict"))
        for one in told(VERDICT, group)
    ]


def messages_of(reasons: Sequence[Reason]) -> list[str]:
    """Return the messages of `reasons_of`."""
    return [message for message, _code in reasons_of(reasons)]


def echoes_of(echoes: Iterable[Mapping[str, t.Any]], *names: str) -> list[tuple[str, ...]]:
    """Return the failures that followed: the folded nodes, and the values under ``names`` that they share."""
    nodes: dict[tuple[str, ...], list[str]] = {}
    for echo in echoes:
        nodes.setdefault(tuple(echo[name] for name in names), []).append(echo["node"])
    return [(folded(found), *same) for same, found in nodes.items()]
