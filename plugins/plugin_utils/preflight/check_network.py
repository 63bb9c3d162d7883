# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of how the nodes meet: interface, own name, rank 0's port, clock."""

from __future__ import annotations

import ipaddress
import statistics
import typing as t
from collections.abc import Mapping, Sequence

from ..plan.job.ranks import is_loopback
from .cells import Cell, green, grey, not_known, red, yellow
from .facts import Interface
from .look import Look

# Variable of the environment -> key of the training config.
SOCKET_VARIABLES = {"NCCL_SOCKET_IFNAME": "nccl_socket_ifname", "GLOO_SOCKET_IFNAME": "gloo_socket_ifname"}
# The largest difference between nodes. Beyond it logs are hard to compare, and tokens and certificates fail.
CLOCK_SECONDS = 1.0
_NEURON = "neuron"


def check_socket(look: Look) -> Cell:
    """The interfaces of the config exist, are up and have an address; if it sets none, one leads to rank 0."""
    if not look.multi_node:
        return grey("single_node", "interface")
    interfaces, master = look.facts["network"]["interfaces"], look.facts["network"]["master"]
    address = look.node["master_address"]
    if interfaces is None or master is None:
        said = look.facts["problems"].get("interfaces") or look.facts["problems"].get("master") or "unknown"
        return red("rank_0_unreachable", address=address, said=said)
    proposed = proposed_interface(look)
    named = {variable: look.variable(variable) for variable in SOCKET_VARIABLES}
    for variable, value in named.items():
        problem = _interface_problem(variable, value, interfaces, proposed) if value else None
        if problem:
            return problem
    values = sorted({value for value in named.values() if value})
    if values:
        return green("interfaces", interfaces=values)
    if proposed is None:
        return red("no_interface", address=address)
    return green("interfaces", "proposed" if look.uses_nccl else "", interfaces=[proposed])


def _interface_problem(
    variable: str, value: str, interfaces: Mapping[str, Interface], proposed: str | None
) -> Cell | None:
    """Return the fault in an interface list, or None.

    NCCL takes each name as a prefix, after ``=`` as a whole name, and after ``^`` as one to avoid; Gloo takes whole
    names.
    """
    if value.startswith("^"):
        return None
    exact = value.startswith("=") or variable.startswith("GLOO")
    key = SOCKET_VARIABLES[variable]
    for name in value.lstrip("=").split(","):
        found = [one for one in interfaces if (one == name if exact else one.startswith(name))]
        if not found:
            values: dict[str, t.Any] = {"interface": name, "there": list(interfaces), "key": key, "proposed": proposed}
            return red("interface_missing", remedy="proposed" if proposed else "", **values)
        if not any(interfaces[one]["up"] for one in found):
            return red("interface_down", named=name, interface=found[0])
        if not any(interfaces[one]["addresses"] for one in found):
            return red("interface_without_address", named=name, interface=found[0])
    return None


def proposed_interface(look: Look) -> str | None:
    """Return the interface that leads to rank 0; on rank 0 the one that has its address."""
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


def check_path(look: Look) -> Cell | None:
    """Packets as large as the interface sends reach rank 0; None if they do. Without any answer, it is grey."""
    master = look.facts["network"]["master"]
    if master is None or master["own"] or master["path_mtu"] == master["mtu"]:
        return None
    if master["path_mtu"] is None:
        return grey("path_not_probed", mtu=master["mtu"], address=master["address"])
    sizes: dict[str, t.Any] = {"mtu": master["mtu"], "arrives": master["path_mtu"]}
    return red("packets_lost", interface=master["interface"], address=master["address"], **sizes)


def check_hostname(look: Look) -> Cell:
    """The node's own name does not lead other nodes to themselves."""
    hostname = look.facts["network"]["hostname"]
    name = look.facts["hostname"]
    if not look.multi_node or hostname is None:
        return grey("single_node") if hostname else not_known(look.facts["problems"].get("hostname"))
    if not hostname["loopback"]:
        return green("host_name", "" if hostname["addresses"] else "unresolved", addresses=hostname["addresses"])
    resolved: dict[str, t.Any] = {"name": name, "address": hostname["addresses"][0]}
    if is_loopback(look.node["master_address"]):
        return green("host_name_loopback", "one_machine", **resolved)
    interface = look.variable("GLOO_SOCKET_IFNAME")
    if interface:
        return green("host_name_loopback", "interface", interface=interface, **resolved)
    master = look.facts["network"]["master"]
    own = (master and master["source"]) or look.node["address"]
    return red("host_name_loopback", own=own, **resolved)


def check_port(look: Look) -> Cell:
    """The port where the nodes meet is free on rank 0, and the kernel gives it to no other connection."""
    port, settings = look.node["master_port"], look.facts["settings"]
    if not look.is_first:
        return grey("port_of_rank_0")
    problem = look.facts["network"]["master_port_problem"]
    if problem is not None:
        return red("port_taken", port=port, said=problem)
    # AWS asks for it: its port is one that any connection can have.
    gpus, spans = look.facts["gpus"], [span.partition("-") for span in settings["reserved_ports"].split(",")]
    ends = [(first, last or first) for first, _dash, last in spans if (first + last).isdecimal()]
    if any(int(first) <= port <= int(last) for first, last in ends if first.isdecimal()):
        return green("port_free", port=port)
    ports = settings["port_range"]
    if not gpus or gpus["vendor"] != _NEURON or len(ports) != 2 or not ports[0] <= port <= ports[1]:
        return green("port_free", port=port)
    reserved = ",".join(filter(None, (settings["reserved_ports"], str(port))))
    return yellow("port_not_reserved", port=port, first=ports[0], last=ports[1], reserved=reserved)


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
        return red("clock_off", "ahead" if ahead > behind else "behind", seconds=off, other=middle)
    if look.facts["clock"]["synchronized"]:
        return green("clock_synchronized")
    return grey("clock_not_synchronized")
