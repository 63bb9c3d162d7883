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
        pattern = rf"(?<![\w.-]){re.escape(node)}(?![\w-])" if node else ""
        key = (node is None, re.sub(pattern, "\0", text) if node else text)
        groups.setdefault(key, []).append(node or "")
    ordered = sorted(groups.items(), key=lambda group: (group[0][0], len(group[1])))
    return [text.replace("\0", folded(nodes)) for (_of_run, text), nodes in ordered]
