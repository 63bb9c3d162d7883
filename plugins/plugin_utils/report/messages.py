# SPDX-License-Identifier: GPL-3.0-or-later
"""What a summary says, each different message once."""

from __future__ import annotations

import itertools
import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..contracts import Reason
from ..inventory.folded_names import folded, folded_messages, named, nameless
from .number_ranges import in_ranges

# A range does not say which node is the odd one, and fewer messages are read one by one.
_FEWEST = 4


def reasons_of(reasons: Sequence[Reason]) -> list[tuple[str, str]]:
    """Return each message and its code, gravest first.

    A message that several nodes share comes once, with the range of numbers in which they differ.
    """
    found = []
    for _verdict, group in itertools.groupby(reasons, lambda reason: reason.get("verdict")):
        for text in folded_messages(_in_ranges(list(group))):
            message, _newline, code = text.rpartition("\n")
            found.append((message, code))
    return found


def _in_ranges(reasons: Sequence[Reason]) -> Iterator[tuple[str | None, str]]:
    """Yield the node of each reason, and its message and code, each number as the range over all nodes."""
    nodes = [reason.get("node") for reason in reasons]
    texts = [f"{reason['message']}\n{reason.get('code', '')}" for reason in reasons]
    plain = [nameless(text, node) if node else text for node, text in zip(nodes, texts, strict=True)]
    shared = in_ranges((text for node, text in zip(nodes, plain, strict=True) if node), _FEWEST)
    for node, text in zip(nodes, plain, strict=True):
        yield node, named(shared[text], [node]) if node else text


def messages_of(reasons: Sequence[Reason]) -> list[str]:
    """Return the messages of `reasons_of`."""
    return [message for message, _code in reasons_of(reasons)]


def echoes_of(echoes: Iterable[Mapping[str, t.Any]], *names: str) -> list[tuple[str, ...]]:
    """Return the failures that followed: the folded nodes, and the values under ``names`` that they share."""
    nodes: dict[tuple[str, ...], list[str]] = {}
    for echo in echoes:
        nodes.setdefault(tuple(echo[name] for name in names), []).append(echo["node"])
    return [(folded(found), *same) for same, found in nodes.items()]
