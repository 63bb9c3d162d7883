# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of many nodes in few letters: gpu01 to gpu16 and gpu19 become ``gpu[01-16,19]``, as schedulers write them."""

from __future__ import annotations

from collections.abc import Iterable

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException


def folded(names: Iterable[str]) -> str:
    """Return names with their numbers folded, sorted; as they are where one of them is none that ClusterShell takes."""
    names = list(names)
    try:
        return str(NodeSet.fromlist(names, resolver=RESOLVER_NOGROUP))
    except NodeSetException:
        return ",".join(names)
