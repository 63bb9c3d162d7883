# SPDX-License-Identifier: GPL-3.0-or-later
"""How a node is reached and reaches rank 0: interfaces, route, names, port."""

from __future__ import annotations

import ipaddress
import json
import os
import socket
import struct
import time
import typing as t

from .files import number
from .tools import ToolError, run_tool

_SECONDS = 3.0
# Any path carries the first (RFC 791). Google's networks have 1460 or 8896.
_USUAL_MTUS = (576, 1460, 1500, 8896, 9000)
_ANSWER_SECONDS = 1.0
_ECHO, _ECHO_REPLY = 8, 0
# Linux, linux/in.h: do not split packets, whatever the route is known to carry.
_MTU_DISCOVER, _PROBE = 10, 3
_ICMP_HEADER = 8
_IP_AND_ICMP_HEADERS = 20 + _ICMP_HEADER


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
    ``mtu`` is the route's limit, and ``path_mtu`` the largest packet that arrives there, or None if unknown.
    """
    addresses = resolve(name)
    if not addresses:
        raise ToolError(f"this node cannot resolve the name {name}")
    route = route_in(run_tool(["ip", "-json", "route", "get", addresses[0]], _SECONDS)[0])
    route["mtu"] = route["mtu"] or number("/", f"/sys/class/net/{route['interface']}/mtu")
    return {**route, "address": addresses[0], "path_mtu": path_mtu(addresses[0], route["mtu"])}


def in_one_network(interfaces: dict[str, dict[str, t.Any]], names: list[str]) -> list[str]:
    """Return the interfaces, of some by name, whose IPv4 network another one of them has too."""
    networks: dict[t.Any, set[str]] = {}
    for name in names:
        for address in interfaces.get(name, {}).get("addresses", ()):
            networks.setdefault(ipaddress.ip_interface(address).network, set()).add(name)
    shared = [found for network, found in networks.items() if network.version == 4 and len(found) > 1]
    return sorted(set().union(*shared))


def route_in(output: str) -> dict[str, t.Any]:
    """Return the output of ``ip -json route get``, in short."""
    route = json.loads(output)[0]
    own = route.get("type") == "local"
    limits = [metric["mtu"] for metric in route.get("metrics", ()) if "mtu" in metric]
    return {
        "interface": None if own else route["dev"],
        "source": route.get("prefsrc"),
        "own": own,
        "mtu": next(iter(limits), None),
    }


def path_mtu(address: str, mtu: int | None) -> int | None:
    """Return the largest usual packet up to ``mtu`` bytes that an address answers; None if it answers none."""
    if mtu is None or ":" in address:
        return None
    try:
        found = _answered(address, {_USUAL_MTUS[0], mtu})
        if found and mtu not in found:
            # Any packet can be lost once.
            found |= _answered(address, {mtu, *(size for size in _USUAL_MTUS if size < mtu)})
    except OSError:
        return None
    return max(found, default=None)


def _answered(address: str, sizes: set[int]) -> set[int]:
    """Return the sizes of packets that arrive unsplit and are answered; OSError without the right to send them."""
    own = os.getpid() & 0xFFFF
    answered: set[int] = set()
    is_root = not os.geteuid()
    kind = socket.SOCK_RAW if is_root else socket.SOCK_DGRAM
    with socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP) as probe:
        probe.setsockopt(socket.IPPROTO_IP, _MTU_DISCOVER, _PROBE)
        probe.connect((address, 0))
        for size in sizes:
            total = (_ECHO << 8) + own + size
            checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
            probe.send(struct.pack("!BBHHH", _ECHO, 0, checksum, own, size) + bytes(size - _IP_AND_ICMP_HEADERS))
        until = time.monotonic() + _ANSWER_SECONDS
        while answered != sizes and time.monotonic() < until:
            probe.settimeout(max(until - time.monotonic(), 0.001))
            try:
                answer = probe.recv(65536)
            except socket.timeout:
                break
            place = (answer[0] & 0xF) * 4 if is_root and answer else 0
            if len(answer) < place + _ICMP_HEADER:
                continue
            kind_of_answer, _code, _sum, sender, size = struct.unpack_from("!BBHHH", answer, place)
            if kind_of_answer == _ECHO_REPLY and (sender == own or not is_root):
                answered.add(size)
    return answered & sizes


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
