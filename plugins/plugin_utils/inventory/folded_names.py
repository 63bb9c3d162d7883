# SPDX-License-Identifier: GPL-3.0-or-later
"""Compact names of many nodes: gpu01 to gpu16 and gpu19 become ``gpu[01-16,19]``, as schedulers write them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException


def folded(names: Iterable[str]) -> str:
    """Return names sorted, with numbers folded; unfolded if ClusterShell does not accept one of them."""
    names = list(names)
    try:
        return str(NodeSet.fromlist(names, resolver=RESOLVER_NOGROUP))
    except NodeSetException:
        return ",".join(names)


def folded_messages(messages: Iterable[tuple[str | None, str]]) -> list[str]:
    """Return the messages of nodes; those that differ only in the node's name are merged, with the names folded.

    Each message comes with its node, or None, and keeps the place of its first occurrence; but messages about nodes are
    sorted so that the rarest, which stand out, come first.
    """
    groups: dict[tuple[bool, str], list[str]] = {}
    for node, text in messages:
        groups.setdefault((node is None, nameless(text, node) if node else text), []).append(node or "")
    ordered = sorted(groups.items(), key=lambda group: (group[0][0], len(group[1])))
    return [named(text, nodes) for (_of_run, text), nodes in ordered]


def nameless(text: str, node: str) -> str:
    """Return a text with the node's name replaced by a placeholder for `named`, to compare it with other nodes'."""
    return re.sub(rf"(?<![\w.-]){re.escape(node)}(?![\w-])", "\0", text)


def named(text: str, nodes: Iterable[str]) -> str:
    """Return a text of `nameless` with the names of all nodes that share it."""
    return text.replace("\0", folded(nodes))
