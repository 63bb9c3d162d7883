# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of how the nodes meet: interface, own name, rank 0's port, clock."""

from __future__ import annotations

import ipaddress
import statistics
from collections.abc import Mapping, Sequence

from ..plan.job.ranks import is_loopback
from .cells import Cell, by_hand, green, grey, red
from .facts import Interface
from .look import Look

# Variable of the environment -> key of the training config.
SOCKET_VARIABLES = {"NCCL_SOCKET_IFNAME": "nccl_socket_ifname", "GLOO_SOCKET_IFNAME": "gloo_socket_ifname"}
# Between nodes. More makes logs hard to hold against each other, and tokens and certificates fail.
CLOCK_SECONDS = 1.0


def check_socket(look: Look) -> Cell:
    """The interfaces of the config are there, up and have an address; where it names none, one leads to rank 0."""
    if not look.multi_node:
        return grey("a single node needs no interface")
    interfaces, master = look.facts["network"]["interfaces"], look.facts["network"]["master"]
    address = look.node["master_address"]
    if interfaces is None or master is None:
        reason = look.facts["problems"].get("interfaces") or look.facts["problems"].get("master") or "unknown"
        return red("no route", f"rank 0 ({address}) is not reachable: {reason}", _to_route(address))
    proposed = proposed_interface(look)
    named = {variable: look.variable(variable) for variable in SOCKET_VARIABLES}
    for variable, value in named.items():
        problem = _interface_problem(variable, value, interfaces, proposed) if value else None
        if problem:
            return problem
    values = sorted({value for value in named.values() if value})
    if values:
        return green(", ".join(values))
    if proposed is None:
        reason = f"no interface of the node routes to rank 0 ({address})"
        return red("no interface", reason, _to_route(address))
    return green(f"{proposed} (proposed)" if look.uses_nccl else proposed)


def _to_route(address: str | None) -> str:
    return by_hand(f"give the node a route to {address}", f"ip route get {address}")


def _interface_problem(
    variable: str, value: str, interfaces: Mapping[str, Interface], proposed: str | None
) -> Cell | None:
    """Return what is wrong with an interface list, or None.

    NCCL takes names as beginnings, after ``=`` as whole names and after ``^`` as those to avoid; Gloo as whole names.
    """
    if value.startswith("^"):
        return None
    exact = value.startswith("=") or variable.startswith("GLOO")
    key = SOCKET_VARIABLES[variable]
    for name in value.lstrip("=").split(","):
        found = [one for one in interfaces if (one == name if exact else one.startswith(name))]
        if not found:
            instead = (
                f"set {key} in the config to {proposed}"
                if proposed
                else by_hand(f"set {key} to an interface of the node", "ip -brief address")
            )
            there = ", ".join(interfaces)
            return red(f"no {name}", f"the node has no interface {name}; it has {there}", instead)
        if not any(interfaces[one]["up"] for one in found):
            return red(f"{name} down", f"the interface {found[0]} is down", f"ip link set {found[0]} up")
        if not any(interfaces[one]["addresses"] for one in found):
            give = by_hand(f"assign an address to {found[0]}", f"ip address show {found[0]}")
            return red(f"{name} bare", f"the interface {found[0]} has no address", give)
    return None


def proposed_interface(look: Look) -> str | None:
    """Return the interface that leads to rank 0; on rank 0 the one that holds its address."""
    network = look.facts["network"]
    if network["master"] is None or network["interfaces"] is None:
        return None
    if not network["master"]["own"]:
        return network["master"]["interface"]
    address = network["master"]["address"]
    holding = [
        name
        for name, interface in network["interfaces"].items()
        if any(str(ipaddress.ip_interface(one).ip) == address for one in interface["addresses"])
    ]
    return next(iter(holding), None)


def check_hostname(look: Look) -> Cell:
    """The node's own name does not lead other nodes to themselves."""
    hostname = look.facts["network"]["hostname"]
    name = look.facts["hostname"]
    if not look.multi_node or hostname is None:
        return grey("a single node" if hostname else look.facts["problems"].get("hostname", "unknown"))
    if not hostname["loopback"]:
        return green(", ".join(hostname["addresses"]) or "does not resolve")
    resolved = f"{name} resolves to {hostname['addresses'][0]}"
    if is_loopback(look.node["master_address"]):
        return green(f"{resolved}; all nodes are on one machine")
    interface = look.variable("GLOO_SOCKET_IFNAME")
    if interface:
        return green(f"{resolved}; Gloo uses {interface}")
    master = look.facts["network"]["master"]
    own = (master and master["source"]) or look.node["address"]
    return red(
        hostname["addresses"][0],
        f"the node's own name {name} resolves to a loopback address, so Gloo sends the other nodes to themselves",
        by_hand(
            f"map {name} to {own} instead of {hostname['addresses'][0]} in /etc/hosts, or set "
            "gloo_socket_ifname in the config"
        ),
    )


def check_port(look: Look) -> Cell:
    """The port where the nodes meet is free on rank 0."""
    port = look.node["master_port"]
    if not look.is_first:
        return grey("only rank 0 listens")
    problem = look.facts["network"]["master_port_problem"]
    if problem is None:
        return green(f"{port} is free")
    reason = f"rendezvous port {port} is not free ({problem})"
    return red(
        f"{port} is taken",
        reason,
        f"set training_master_port to a free port; to see what uses it: ss -ltnp 'sport = :{port}'",
    )


def clock_cells(looks: Sequence[Look]) -> dict[str, Cell]:
    """Return whether each node's clock agrees with the median node's.

    A clock's offset from the controller's is known only within two bounds, because reaching the node takes time. A
    clock is wrong if even the nearer bound is too far off.
    """
    bounds = {look.name: look.facts["clock"]["offset_seconds"] for look in looks}
    middles = {name: sum(pair) / 2 for name, pair in bounds.items()}
    reference = statistics.median_low(middles.values())
    middle = next(name for name, value in middles.items() if value == reference)
    return {look.name: _clock_cell(look, bounds[look.name], bounds[middle], middle) for look in looks}


def _clock_cell(look: Look, own: Sequence[float], other: Sequence[float], middle: str) -> Cell:
    ahead, behind = own[0] - other[1], other[0] - own[1]
    off = max(ahead, behind)
    if off > CLOCK_SECONDS:
        direction = "ahead" if ahead > behind else "behind"
        reason = f"the clock is at least {off:.1f} s {direction}{' of' if ahead > behind else ''} {middle}'s"
        return red(f"{off:.1f} s {direction}", reason, "timedatectl set-ntp true   # or chronyc makestep")
    if look.facts["clock"]["synchronized"]:
        return green("synchronized")
    return grey("correct, but not synchronized (no NTP)")
