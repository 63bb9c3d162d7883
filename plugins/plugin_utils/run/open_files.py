# SPDX-License-Identifier: GPL-3.0-or-later
"""How many files this process may have open: a login's usual 1,024 are enough for 200 nodes."""

from __future__ import annotations

import resource

# While a node is asked: the pipes of its ssh client, with both ends open at its start, and the objects that wait on the
# pipes.
_OF_A_NODE = 8
_OF_ITS_OWN = 128


def allow_open_files(nodes: int) -> str | None:
    """Allow as many as it takes to ask so many nodes at once; if that is impossible, return why, for people."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OF_ITS_OWN + _OF_A_NODE * nodes
    if soft >= wanted or soft == resource.RLIM_INFINITY:
        return None
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most == wanted:
        return None
    return f"{nodes} nodes may need {wanted} open files on the controller, which allows {hard} (ulimit -Hn)"
