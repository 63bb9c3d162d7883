# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the nodes of a run in a log line, by host name or by address."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping

from ..contracts import NodePlan, Status

# A name with its port, as in gpu017<4711> of NCCL, [10.0.0.17]:4711 of Gloo, and ipv4:10.0.0.17:4711 of gRPC.
_NAME = re.compile(r"(?<![\w.-])(?P<name>[A-Za-z0-9_][\w.-]{0,252})(?P<port>(?=<\d)|(?=\]?:\d{2,5}\b))?")
_IPV6 = re.compile(r"\[(?P<name>[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{2,40})\]")
# The process that wrote a log, such as process gpu017:4711; see `module_utils.logs.ranks`.
_PROCESS = re.compile(r"process (?P<name>[^:]+):\d+")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})


class NodeNames:
    """The inventory host behind each host name and address of a run.

    A node is found by its inventory name, its address and the host name in its own log, with or without the domain. If
    several nodes share one of these, it means none of them.
    """

    def __init__(self, nodes: Iterable[NodePlan] = (), statuses: Iterable[Status] = ()) -> None:
        """Collect them from the plan, and from NCCL's lines about the processes of each node."""
        found: dict[str, set[str]] = {}
        given = [(node["node"], name) for node in nodes for name in (node["node"], node.get("address", ""))]
        given += [
            (status["node"], process["name"])
            for status in statuses
            for told in status["trainer"]["ranks"]
            if (process := _PROCESS.fullmatch(told))
        ]
        for node, name in given:
            for form in _forms(name):
                found.setdefault(form, set()).add(node)
        self._hosts: Mapping[str, str] = {
            name: next(iter(hosts)) for name, hosts in found.items() if len(hosts) == 1 and name not in _LOOPBACK
        }

    def host(self, name: str) -> str | None:
        """Return the inventory host with a host name or address; None if it is unknown."""
        return next((self._hosts[form] for form in _forms(name) if form in self._hosts), None)

    def in_line(self, line: str) -> dict[str, str]:
        """Return the host names and addresses in a line, in their order, each with its inventory host.

        A word of letters or of digits alone counts only if a port follows it.
        """
        found = {}
        for match in sorted([*_NAME.finditer(line), *_IPV6.finditer(line)], key=lambda match: match.start()):
            name = match["name"].rstrip(".")
            is_name = match.groupdict().get("port", "") is not None or not (name.isalpha() or name.isdigit())
            if is_name and (host := self.host(name)):
                found[name] = host
        return found


def _forms(name: str) -> list[str]:
    """Return the forms of a name, the whole one first."""
    try:
        return [str(ipaddress.ip_address(name))]
    except ValueError:
        whole = name.casefold().rstrip(".")
        return list(dict.fromkeys(form for form in (whole, whole.partition(".")[0]) if form))
