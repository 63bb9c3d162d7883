# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes take part, in which order, and how the others reach the first of them."""

from __future__ import annotations

import ipaddress
import re
import typing as t
from dataclasses import dataclass

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._faults import Findings, listed, nearest

if t.TYPE_CHECKING:
    from collections.abc import Sequence

_UNSAFE = re.compile(r"^[.-]|[^A-Za-z0-9._:-]")


@dataclass(frozen=True)
class Node:
    """An inventory host of the run.

    ``address`` is how the other nodes reach it (``training_address``, else ``ansible_host``, else the name), ``user``
    who connects to it, ``local`` whether it is the controller itself.
    """

    name: str
    address: str
    user: str
    local: bool = False

    def names(self) -> set[str]:
        """Return every name under which a master address may mean this node."""
        return {self.name.casefold(), self.address.casefold()}


def in_rank_order(
    nodes: Sequence[Node], rank_order: Sequence[str], exclude: Sequence[str], findings: Findings
) -> list[Node]:
    """Return the nodes of the run; their place is their node rank. Without ``rank_order`` the given order holds."""
    by_name = {node.name: node for node in nodes}
    for name in by_name:
        if _UNSAFE.search(name):
            findings.fault(
                "training_hosts",
                name,
                "the name of this host becomes a folder and an argument, and holds what a shell could take for syntax.",
                "Rename it in the inventory to letters, digits and . _ : -, with its address in ansible_host.",
            )
    for name in exclude:
        if name not in by_name:
            _fault_no_host("training_exclude", name, by_name, findings)
    taking_part = {name: node for name, node in by_name.items() if name not in exclude}
    if not taking_part:
        findings.fault("training_hosts", list(by_name), "no host is left to train on.", "Mind --limit and exclusions.")
    if not rank_order:
        return list(taking_part.values())
    for name in dict.fromkeys(rank_order):
        if name not in taking_part:
            _fault_no_host("training_rank_order", name, taking_part, findings)
        if list(rank_order).count(name) > 1:
            findings.fault("training_rank_order", name, f"{name} stands there twice.", "Name each host once.")
    left_out = [name for name in taking_part if name not in rank_order]
    if left_out:
        findings.fault(
            "training_rank_order",
            list(rank_order),
            f"hosts of the run are missing there: {listed(left_out)}.",
            "Name every host, or leave hosts out with training_exclude.",
        )
    return [taking_part[name] for name in dict.fromkeys(rank_order) if name in taking_part]


def _fault_no_host(option: str, name: str, known: t.Iterable[str], findings: Findings) -> None:
    known = list(known)
    near = nearest(name, known)
    remedy = f"Did you mean {near!r}?" if near else f"Hosts of the run: {listed(known)}."
    findings.fault(option, name, f"{name} is no host of the run.", remedy)


def master_address(asked: str | None, nodes: Sequence[Node], key: str, findings: Findings) -> str:
    """Return the address at which all nodes of a multi-node run meet: that of rank 0.

    ``asked`` is the config's; ``auto`` or nothing takes the address of rank 0. A loopback name reaches rank 0 only
    where every node is the same machine.
    """
    first = nodes[0]
    address = first.address if asked in (None, "", "auto") else str(asked)
    one_machine = all(node.local for node in nodes) or all(is_loopback(node.address) for node in nodes)
    if is_loopback(address):
        if len(nodes) > 1 and not one_machine:
            findings.fault(
                key,
                asked,
                f"{address} is a loopback address: each of the {len(nodes)} nodes would look for rank 0 on itself.",
                f"Give the address of rank 0 ({first.name}) that the others reach, or auto.",
            )
        return address
    if address.casefold() in first.names():
        return address
    owner = next((node for node in nodes[1:] if address.casefold() in node.names()), None)
    if owner:
        findings.fault(
            key,
            asked,
            f"{address} is node {owner.name} of rank {nodes.index(owner)}, but rank 0 is {first.name}.",
            f"Put {owner.name} first with training_rank_order, or give the address of {first.name}.",
        )
    else:
        findings.fault(
            key,
            asked,
            f"{address} is no node of the run ({listed(f'{node.name} {node.address}' for node in nodes)}).",
            f"Give the address of rank 0 ({first.name}), or auto; where {address} is another interface of it, "
            "say so in the inventory: training_address.",
        )
    return address


def is_loopback(address: str) -> bool:
    """Tell whether an address or name means the machine that reads it."""
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        name = address.casefold()
        return name == "localhost" or name.endswith(".localhost") or name.startswith("localhost.")
