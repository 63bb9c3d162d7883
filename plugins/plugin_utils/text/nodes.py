# SPDX-License-Identifier: GPL-3.0-or-later
"""Compact names of many nodes: gpu01 to gpu16 and gpu19 become ``gpu[01-16,19]``, the notation of schedulers."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

# IPv4 and IPv6 addresses, ports, process numbers, and the ends of paths.
_OF_ONE_NODE = re.compile(
    r"\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b|\b[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){3,7}\b|(?<=port )[0-9]+|(?<=PID )[0-9]+"
    r"|(?<![\w.-])/[^\s,;:'\"]+",
    re.IGNORECASE,
)
_OF_MANY = {"was": "were", "is": "are", "has": "have", "does": "do"}
_OF_ITS_SUBJECT = re.compile(rf"^\0 ({'|'.join(_OF_MANY)})\b")


def folded(names: Iterable[str]) -> str:
    """Return names sorted, with numbers folded; unfolded if ClusterShell does not accept one of them."""
    return _folded(tuple(names))


# A report folds the same nodes many times.
@functools.lru_cache(maxsize=128)
def _folded(names: tuple[str, ...]) -> str:
    try:
        return str(NodeSet.fromlist(names, resolver=RESOLVER_NOGROUP))
    except NodeSetException:
        return ",".join(names)


def folded_messages(
    messages: Iterable[tuple[str | None, str]], causes: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """Return the messages of nodes; equal messages are merged, with the names folded.

    Messages are equal if their nodes have the same of the ``causes``, or if they differ only in the node's name and in
    the parts that `alike` leaves out. The merged message shows those parts from the first node.

    Each message comes with its node, or None, and keeps the place of its first occurrence; but messages about nodes are
    sorted so that the rarest, which stand out, come first.
    """
    groups: dict[tuple[bool, str, str], list[tuple[str, str]]] = {}
    for node, text in messages:
        plain = nameless(text, node) if node else text
        cause = causes.get(node or "", "")
        shared = "" if cause else alike(plain) if node else plain
        groups.setdefault((node is None, cause, shared), []).append((node or "", plain))
    ordered = sorted(groups.items(), key=lambda group: (group[0][0], len(group[1])))
    return [_once(group) for _key, group in ordered]


def _once(group: list[tuple[str, str]]) -> str:
    """Return the first text of nodes with equal messages, with the names of all."""
    (node, text), *others = group
    if any(other != text for _node, other in others):
        text = as_on(node, text)
    return named(text, [node, *(other for other, _text in others)])


def as_on(node: str, text: str) -> str:
    """Return a text about several nodes, with a remark that it quotes one of them."""
    first, newline, rest = text.partition("\n")
    stop = "." if first.endswith(".") else ""
    first, remark = first.rstrip("."), f"shown for {node}; the others are alike"
    first = f"{first[:-1]}; {remark})" if first.endswith(")") else f"{first} ({remark})"
    return f"{first}{stop}{newline}{rest}"


def alike(text: str) -> str:
    """Return a text without addresses, ports, process numbers and paths, to compare it with others."""
    return _OF_ONE_NODE.sub("…", text)


def nameless(text: str, node: str) -> str:
    """Return a text with the node's name replaced by a placeholder for `named`, to compare it with other nodes'."""
    return re.sub(rf"(?<![\w.-]){re.escape(node)}(?![\w-])", "\0", text) if node in text else text


def named(text: str, nodes: Iterable[str]) -> str:
    """Return a text from `nameless` as a sentence about all nodes that share it, with their names."""
    names = list(nodes)
    if len(names) > 1:
        text = _OF_ITS_SUBJECT.sub(lambda found: f"\0 {_OF_MANY[found[1]]}", text)
    return text.replace("\0", folded(names))
