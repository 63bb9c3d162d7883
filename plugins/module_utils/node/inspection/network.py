# SPDX-License-Identifier: GPL-3.0-or-later
"""How a node is reached and reaches rank 0: interfaces, route, names, port."""

from __future__ import annotations

import ipaddress
import json
import socket
import typing as t

from .tools import ToolError, run_tool

_SECONDS = 3.0


def interface_facts() -> dict[str, dict[str, t.Any]]:
    """Return ``mtu``, ``up`` and ``addresses`` (with prefix length) of each network interface that is up or has any."""
    return interfaces_in(run_tool(["ip", "-json", "address", "show"], _SECONDS)[0])


def interfaces_in(output: str) -> dict[str, dict[str, t.Any]]:
    """Return the output of ``ip -json address show``, in short."""
    found = {}
    for link in json.loads(output):
        addresses = [f"{one['local']}/{one['prefixlen']}" for one in link.get("addr_info", []) if "local" in one]
        up = {"UP", "LOWER_UP"} <= set(link["flags"])
        if up or addresses:
            found[link["ifname"]] = {"mtu": link["mtu"], "up": up, "addresses": addresses}
    return found


def master_facts(name: str) -> dict[str, t.Any]:
    """Return how this node reaches rank 0: ``address``, the ``interface`` that routes there and the ``source`` address.

    ``own`` says that the address is one of this node's; then ``interface`` is None, as such packets leave by none.
    """
    addresses = resolve(name)
    if not addresses:
        raise ToolError(f"this node cannot resolve the name {name}")
    return dict(route_in(run_tool(["ip", "-json", "route", "get", addresses[0]], _SECONDS)[0]), address=addresses[0])


def route_in(output: str) -> dict[str, t.Any]:
    """Return the output of ``ip -json route get``, in short."""
    route = json.loads(output)[0]
    own = route.get("type") == "local"
    return {"interface": None if own else route["dev"], "source": route.get("prefsrc"), "own": own}


def resolve(name: str) -> list[str]:
    """Return the addresses of a name as this node sees them, IPv4 first; an empty list for an unknown name."""
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return []
    return sorted((str(address) for address in found), key=lambda address: (":" in address, address))


def hostname_facts(hostname: str) -> dict[str, t.Any]:
    """Return the ``addresses`` of this node's own name, and whether one of them is ``loopback``."""
    addresses = resolve(hostname)
    loopback = any(ipaddress.ip_address(address.partition("%")[0]).is_loopback for address in addresses)
    return {"addresses": addresses, "loopback": loopback}


def port_problem(port: int) -> str | None:
    """Return why nobody could listen at a port of this node now, or None if it is free."""
    with socket.socket() as probe:
        # A process that has just ended leaves the port in TIME_WAIT, which does not block it for others.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            return error.strerror
    return None
