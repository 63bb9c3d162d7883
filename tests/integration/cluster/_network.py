# SPDX-License-Identifier: GPL-3.0-or-later
"""The two networks of a cluster: management, which this machine reaches, and fabric, which only the nodes share.

Both bridges live in a network namespace of their own, the *switch*. So the machine's packet filter never sees the
traffic between nodes, none of its settings change, and it gains only one interface, the way to the management bridge.
There is no way out: nodes have no default route.
"""

from __future__ import annotations

import ipaddress
import json
import typing as t
import zlib
from pathlib import Path

from _run import ClusterError, run

if t.TYPE_CHECKING:
    from collections.abc import Iterable

LARGEST_CLUSTER: t.Final = 200

_MANAGEMENT: t.Final = "10.77"
_FABRIC: t.Final = "10.78"
_MACHINE: t.Final = 254  # this machine's place in the management network


class Network(t.NamedTuple):
    """The networks of cluster ``name``: 10.77.``subnet``.0/24 for management, 10.78.``subnet``.0/24 for the fabric."""

    name: str
    subnet: int

    def management(self, number: int) -> str:
        """Address of eth0 of node ``number``, 1 to LARGEST_CLUSTER."""
        return f"{_MANAGEMENT}.{self.subnet}.{number}"

    def fabric(self, number: int) -> str:
        """Address of fab0 of node ``number``."""
        return f"{_FABRIC}.{self.subnet}.{number}"

    def hardware_address(self, number: int, interface: int) -> str:
        """A locally administered MAC address; ``interface`` is 0 for eth0 and 1 for fab0."""
        return f"02:00:00:{self.subnet:02x}:{number:02x}:{interface:02x}"

    def namespace(self, node: str) -> str:
        """Name of the network namespace of ``node``."""
        return f"{self.name}-{node}"


def free_subnet(name: str, taken: Iterable[ipaddress.IPv4Network]) -> int:
    """A subnet whose management network overlaps none of the ``taken`` ones; each name begins looking elsewhere.

    Routes wider than /16 do not count: 10.0.0.0/8 is somebody's summary, and a /24 beside it goes first.
    Raises ClusterError if all 256 are taken.
    """
    taken = [network for network in taken if network.prefixlen >= 16]
    start = zlib.crc32(name.encode())
    for subnet in ((start + offset) % 256 for offset in range(256)):
        wanted = ipaddress.IPv4Network(f"{_MANAGEMENT}.{subnet}.0/24")
        if not any(wanted.overlaps(other) for other in taken):
            return subnet
    raise ClusterError(f"this machine has routes to all of {_MANAGEMENT}.0.0/16, no /24 of it is free for the nodes")


def find(name: str) -> Network | None:
    """The network of cluster ``name`` if it is complete."""
    switch = Path("/run/netns", f"{name}-switch")
    links = json.loads(run(["ip", "-json", "-4", "address", "show"]))
    addresses = [info["local"] for link in links if link["ifname"] == name for info in link["addr_info"]]
    return Network(name, int(addresses[0].split(".")[2])) if addresses and switch.exists() else None


def create(name: str) -> Network:
    """Make the switch with its two bridges and this machine's way in. The address comes last: with it all is there."""
    network = Network(name, free_subnet(name, _routed()))
    switch = network.namespace("switch")
    run(["ip", "netns", "add", switch])
    _batch(
        switch,
        "link add management type bridge",
        "link add fabric type bridge",
        "link set management up",
        "link set fabric up",
    )
    run(["ip", "link", "add", name, "type", "veth", "peer", "name", "machine", "netns", switch])
    _batch(switch, "link set machine master management up")
    run(["ip", "link", "set", name, "up"])
    run(["ip", "address", "add", f"{network.management(_MACHINE)}/24", "dev", name])
    return network


def attach(network: Network, node: str, number: int) -> None:
    """Make the network namespace of ``node`` with its eth0 and fab0, both up."""
    namespace = network.namespace(node)
    run(["ip", "netns", "add", namespace])
    switch_side, node_side = [], ["link set lo up"]
    interfaces = (("eth0", "management", network.management(number)), ("fab0", "fabric", network.fabric(number)))
    for position, (interface, bridge, address) in enumerate(interfaces):
        port = f"{node}-{interface}"
        switch_side += [
            f"link add {port} type veth peer name {interface} address {network.hardware_address(number, position)}"
            f" netns {namespace}",
            f"link set {port} master {bridge} up",
        ]
        node_side += [f"address add {address}/24 dev {interface}", f"link set {interface} up"]
    _batch(network.namespace("switch"), *switch_side)
    _batch(namespace, *node_side)


def detach(name: str, node: str) -> None:
    """Remove the results of ``attach``; nothing happens if there are none."""
    namespace, switch = f"{name}-{node}", f"{name}-switch"
    if _exists(switch):
        for port in json.loads(run(["ip", "-n", switch, "-json", "link", "show"])):
            if port["ifname"] in {f"{node}-eth0", f"{node}-fab0"}:
                run(["ip", "-n", switch, "link", "delete", port["ifname"]])
    if _exists(namespace):
        run(["ip", "netns", "delete", namespace])


def remove(name: str) -> None:
    """Remove everything with the name of the cluster; nothing happens if there is nothing."""
    if any(link["ifname"] == name for link in json.loads(run(["ip", "-json", "link", "show"]))):
        run(["ip", "link", "delete", name])
    for namespace in sorted(Path("/run/netns").glob(f"{name}-*")):
        run(["ip", "netns", "delete", namespace.name])


def _routed() -> list[ipaddress.IPv4Network]:
    routes = json.loads(run(["ip", "-json", "-4", "route", "show", "table", "all"]))
    return [ipaddress.IPv4Network(route["dst"]) for route in routes if route["dst"] != "default"]


def _exists(namespace: str) -> bool:
    return Path("/run/netns", namespace).exists()


def _batch(namespace: str, *commands: str) -> None:
    run(["ip", "-n", namespace, "-batch", "-"], stdin="".join(f"{command}\n" for command in commands))
