# SPDX-License-Identifier: GPL-3.0-or-later
"""Network interfaces that a plan leaves to be found: the one over which a node reaches rank 0."""

from __future__ import annotations

import typing as t

from .inspection.tools import ToolError
from .problems import ProblemError

if t.TYPE_CHECKING:
    from .contracts import Node

VARIABLES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
AUTO = "auto"


def with_interfaces(node: Node) -> Node:
    """Return a node's plan with the interface that routes to rank 0 wherever it says ``auto``.

    On rank 0 itself, that is the interface with the address. `ProblemError` if there is no such interface.
    """
    asked = [name for name in VARIABLES if node["env"].get(name) == AUTO]
    if not asked:
        return node
    master = node["master_address"]
    try:
        interface = _towards(master)
    except ToolError as error:
        raise ProblemError("interface_unknown", variables=asked, why=str(error)) from error
    if interface is None:
        raise ProblemError("no_interface", master=master, variables=asked)
    found = dict.fromkeys(asked, interface)
    words = {f"{name}={AUTO}": f"{name}={value}" for name, value in found.items()}
    return {**node, "env": {**node["env"], **found}, "argv": [words.get(word, word) for word in node["argv"]]}


def _towards(master: str) -> str | None:
    from .inspection.network import interface_facts, master_facts  # noqa: PLC0415

    route = master_facts(master)
    if not route["own"]:
        return str(route["interface"])
    held = (
        name
        for name, interface in interface_facts().items()
        if any(address.partition("/")[0] == route["address"] for address in interface["addresses"])
    )
    return next(held, None)
