# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes take part, in which order, and how the others reach rank 0."""

from __future__ import annotations

import ipaddress
import itertools
import re
import typing as t
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...text.words import counted, listed, nearest
from ..config.findings import Findings

# Unknown hosts that are reported one by one, each with the closest name.
_MOST_NAMED = 40
# Of more addresses that hosts share, so many are examples.
_SHOWN_ADDRESSES = 3
_UNSAFE = re.compile(r"^[.-]|[^A-Za-z0-9._:-]|^$")
# Host names inside a cluster may contain underscores.
_LABEL, _LONGEST_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"), 253
_UNSAFE_USER = re.compile(r"^[.-]|[^A-Za-z0-9._@+-]|^$")
_LOOPBACK_NAMES = ("localhost", "ip6-localhost", "ip6-loopback")


@dataclass(frozen=True)
class Node:
    """An inventory host of the run.

    ``address`` is how the other nodes reach it (``training_address``, else ``ansible_host``, else the name), ``user``
    who connects to it, ``local`` whether it is the controller itself. ``topology`` is its place in the network,
    outermost level first, separated by / (``training_topology``: ``spine1/rack3``); empty if unknown.
    ``gpus`` is its training_gpus_per_node in the inventory, or empty.
    """

    name: str
    address: str
    user: str
    local: bool = False
    topology: str = ""
    gpus: str = ""

    def names(self) -> set[str]:
        """Return every name that a master address may use for this node."""
        return {_normal(self.name), _normal(self.address)}


class Assignment(t.TypedDict):
    """The place of a node in a run; its ``topology`` is empty where it is not known."""

    node: str
    node_rank: int
    nnodes: int
    master_address: str
    topology: str


def in_rank_order(
    nodes: Sequence[Node], rank_order: Sequence[str], exclude: Sequence[str], findings: Findings
) -> list[Node]:
    """Return the nodes of the run; their place is their node rank.

    Without ``rank_order`` the given order is kept, except that nodes in the same place of the network become
    neighbours. If ``rank_order`` is wrong, all participating nodes are returned nevertheless, for later checks.
    """
    by_name = {node.name: node for node in nodes}
    unknown = [name for name in dict.fromkeys(exclude) if name not in by_name]
    _fault_no_hosts("training_exclude", unknown, by_name, findings)
    taking_part = {name: node for name, node in by_name.items() if name not in exclude}
    for node in taking_part.values():
        _check_syntax(node, findings)
    _check_addresses(list(taking_part.values()), findings)
    if not by_name:
        findings.fault(
            "training_hosts",
            None,
            "It matches no host of the inventory.",
            "Give a group or pattern of hosts that ansible-inventory --graph shows, within --limit if that is given.",
        )
    elif not taking_part:
        findings.fault("training_exclude", list(exclude), "It leaves out all hosts.", "Leave out fewer.")
    if not rank_order:
        _warn_of_no_place(taking_part, findings)
        return by_place(list(taking_part.values()))
    _check_rank_order(rank_order, taking_part, findings)
    names = [name for name in dict.fromkeys(rank_order) if name in taking_part]
    return [taking_part[name] for name in dict.fromkeys([*names, *taking_part])]


def assignments(
    nodes: Sequence[Node], rank_order: Sequence[str], exclude: Sequence[str], findings: Findings
) -> list[Assignment]:
    """Return the rank of each node that takes part, in rank order, as a plan gives it: by `in_rank_order`."""
    ordered = in_rank_order(nodes, rank_order, exclude, findings)
    return ranked(ordered, findings) if ordered else []


def ranked(ordered: Sequence[Node], findings: Findings) -> list[Assignment]:
    """Return the assignments of nodes that are in rank order already, at least one."""
    master = master_address(None, ordered, "training_address", findings)
    return [
        {
            "node": node.name,
            "node_rank": rank,
            "nnodes": len(ordered),
            "master_address": master,
            "topology": node.topology,
        }
        for rank, node in enumerate(ordered)
    ]


def by_place(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes with those in the same place side by side, at every level of the network.

    Places come in the order of their first node, and the nodes of a place keep their order, so that the first node
    stays the first. Neighbouring ranks exchange most: pipeline stages, and the rings of the collectives.
    """

    def places(node: Node) -> tuple[str, ...]:
        # A node without a known place counts as its own place.
        levels = tuple(level for level in node.topology.split("/") if level) or (f"/{node.name}",)
        return tuple("/".join(levels[: depth + 1]) for depth in range(len(levels)))

    first_seen: dict[str, int] = {}
    for node in nodes:
        for place in places(node):
            first_seen.setdefault(place, len(first_seen))
    return sorted(nodes, key=lambda node: [first_seen[place] for place in places(node)])


def _warn_of_no_place(taking_part: dict[str, Node], findings: Findings) -> None:
    without = [node.name for node in taking_part.values() if not node.topology]
    if 0 < len(without) < len(taking_part):
        findings.warn(
            "training_topology",
            None,
            f"These hosts have no place in the network, while others do: {listed(without)}.",
            "Set training_topology for each host, for example in the group of its rack.",
        )


def _check_rank_order(rank_order: Sequence[str], taking_part: dict[str, Node], findings: Findings) -> None:
    counts = Counter(rank_order)
    _fault_no_hosts("training_rank_order", [name for name in counts if name not in taking_part], taking_part, findings)
    for name, count in counts.items():
        if count > 1:
            findings.fault("training_rank_order", name, f"{name} is listed more than once.", "Name each host once.")
    left_out = [name for name in taking_part if name not in counts]
    if left_out:
        findings.fault(
            "training_rank_order",
            list(rank_order),
            f"It does not list these hosts of the run: {listed(left_out)}.",
            "List every host, or exclude hosts with training_exclude.",
        )


def _check_syntax(node: Node, findings: Findings) -> None:
    """Report node settings that a path, an argument or a shell would misinterpret."""
    if _UNSAFE.search(node.name):
        findings.fault(
            "training_hosts",
            node.name,
            "This host's name becomes a folder and an argument, and has characters that are not allowed there.",
            "Rename it in the inventory to letters, digits and . _ : -, and give its address in ansible_host.",
        )
    elif not _is_address(node.address):
        findings.fault(
            f"training_address of {node.name}",
            node.address,
            f"The address of {node.name} is neither a host name nor an IP address.",
            "Set training_address, or else ansible_host, in the inventory.",
        )
    if _UNSAFE_USER.search(node.user):
        findings.fault(
            f"ansible_user of {node.name}",
            node.user,
            "This name replaces {user-id} in paths, and has characters that are not allowed there.",
            "Connect as a user whose name has only letters, digits and . _ @ + -.",
        )


def _is_address(text: str) -> bool:
    """Return whether a text is an IP address or a possible host name, whose last part is not a number (RFC 3696)."""
    try:
        parsed = _parsed(text)
    except ValueError:
        labels = text.removesuffix(".").split(".")
        is_number = re.fullmatch("[0-9]+|0[xX][0-9a-fA-F]*", labels[-1])
        return len(text) <= _LONGEST_NAME and all(map(_LABEL.fullmatch, labels)) and not is_number
    # After % comes an interface of one machine, with any name.
    return "%" not in text and not parsed.is_multicast and not (parsed.version == 4 and parsed.is_reserved)


def _parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return an IP address, with an IPv4-mapped one as IPv4; raise ValueError."""
    parsed = ipaddress.ip_address(text)
    return getattr(parsed, "ipv4_mapped", None) or parsed


def _check_addresses(nodes: Sequence[Node], findings: Findings) -> None:
    """Report hosts with the same address; nodes on the controller itself may share one."""
    by_address: dict[str, list[str]] = {}
    for node in nodes:
        if not node.local and not is_loopback(node.address):
            by_address.setdefault(_normal(node.address), []).append(node.name)
    shared = {address: names for address, names in by_address.items() if len(names) > 1}
    remedy = (
        "Give each its own in the inventory (training_address, or else ansible_host), or exclude hosts with "
        "training_exclude."
    )
    if len(shared) > _SHOWN_ADDRESSES:
        examples = "; ".join(
            f"{listed(names, most=_SHOWN_ADDRESSES)} have {address}"
            for address, names in itertools.islice(shared.items(), _SHOWN_ADDRESSES)
        )
        message = f"{len(shared)} addresses are shared by several hosts, for example: {examples}."
        findings.fault("training_hosts", None, message, remedy)
        return
    for address, names in shared.items():
        findings.fault(
            "training_hosts",
            names,
            f"{listed(names)} have the same address, {address}, so they are the same machine.",
            remedy,
        )


def _normal(address: str) -> str:
    try:
        return str(_parsed(address))
    except ValueError:
        return address.casefold().removesuffix(".")


def _fault_no_hosts(option: str, names: Sequence[str], known: Collection[str], findings: Findings) -> None:
    for name in names[:_MOST_NAMED]:
        near = nearest(name, known)
        remedy = f"Did you mean {near}?" if near else f"Hosts of the run: {listed(known)}."
        findings.fault(option, name, f"{name} is not a host of the run.", remedy)
    if len(names) > _MOST_NAMED:
        more = len(names) - _MOST_NAMED
        findings.fault(option, None, f"{more} more names are not hosts of the run.", f"Its hosts: {listed(known)}.")


def on_one_machine(nodes: Sequence[Node]) -> bool:
    """Return whether every node is the same machine, so that a loopback address reaches all of them."""
    return all(node.local for node in nodes) or all(is_loopback(node.address) for node in nodes)


def master_address(asked: str | None, nodes: Sequence[Node], key: str, findings: Findings) -> str:
    """Return the rendezvous address of a multi-node run: rank 0's address.

    ``asked`` is the config's, under ``key``; ``auto`` or none means the address of rank 0. ``nodes`` are in rank order,
    at least one.
    """
    first = nodes[0]
    if asked in (None, "auto"):
        address = "localhost" if all(node.local for node in nodes) else first.address
    else:
        address = str(asked)
    if is_loopback(address):
        if len(nodes) > 1 and not on_one_machine(nodes):
            findings.fault(
                key,
                asked,
                f"{address} is a loopback address: each of the {len(nodes)} nodes would look for rank 0 on its own "
                "machine.",
                f"Set the address at which the other nodes reach rank 0 ({first.name}), here or in the inventory "
                "(training_address).",
            )
        return address
    if _normal(address) not in first.names():
        _fault_not_first(address, asked, nodes, key, findings)
    return address


def _fault_not_first(address: str, asked: str | None, nodes: Sequence[Node], key: str, findings: Findings) -> None:
    first = nodes[0]
    rank = next((rank for rank, node in enumerate(nodes) if _normal(address) in node.names()), None)
    if rank is not None:
        findings.fault(
            key,
            asked,
            f"{address} is {nodes[rank].name}, which is rank {rank}; rank 0 is {first.name}.",
            f"Put {nodes[rank].name} first with training_rank_order, or give {first.address}, or auto.",
        )
        return
    findings.fault(
        key,
        asked,
        f"{address} is not one of the {counted(len(nodes), 'node')} of the run: "
        f"{listed(_with_address(node) for node in nodes)}.",
        f"Give {first.address}, or auto. If {address} is another interface of {first.name}, set it as "
        "training_address in the inventory.",
    )


def _with_address(node: Node) -> str:
    return node.name if node.name == node.address else f"{node.name} ({node.address})"


def is_loopback(address: str) -> bool:
    """Return whether an address or name refers to the local machine."""
    try:
        parsed = _parsed(address.strip("[]"))
    except ValueError:
        name = address.casefold()
        return name in _LOOPBACK_NAMES or name.endswith(".localhost") or name.startswith("localhost.")
    return parsed.is_loopback or parsed.is_unspecified
