# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of many nodes in few letters: gpu01 to gpu16 and gpu19 become ``gpu[01-16,19]``, as schedulers write them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException


def folded(names: Iterable[str]) -> str:
    """Return names with their numbers folded, sorted; as they are where one of them is none that ClusterShell takes."""
    names = list(names)
    try:
        return str(NodeSet.fromlist(names, resolver=RESOLVER_NOGROUP))
    except NodeSetException:
        return ",".join(names)


def folded_messages(messages: Iterable[tuple[str | None, str]]) -> list[str]:
    """Return what nodes have to say, once where they say the same but for their own names, which are folded then.

    A message comes with the node that it is about, or None, and stands where it came first; but of those about nodes
    the ones that the fewest nodes have in common come first, as what is odd.
    """
    groups: dict[tuple[bool, str], list[str]] = {}
    for node, text in messages:
        groups.setdefault((node is None, nameless(text, node) if node else text), []).append(node or "")
    ordered = sorted(groups.items(), key=lambda group: (group[0][0], len(group[1])))
    return [named(text, nodes) for (_of_run, text), nodes in ordered]


def nameless(text: str, node: str) -> str:
    """Return what a text has in common with that of another node: its own name is left open, for `named`."""
    return re.sub(rf"(?<![\w.-]){re.escape(node)}(?![\w-])", "\0", text)


def named(text: str, nodes: Iterable[str]) -> str:
    """Return a text of `nameless` with the names of all nodes that have it in common."""
    return text.replace("\0", folded(nodes))
