# SPDX-License-Identifier: GPL-3.0-or-later
"""Drift: what has to be the same on all nodes and is not.

The nodes that differ from the majority are red. Without a majority all nodes are red: somebody has to decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .cells import Cell, by_hand, green, grey, red
from .check_network import SOCKET_VARIABLES, proposed_interface
from .check_processors import gpus_in_words
from .look import Look


@dataclass(frozen=True)
class Property:
    """Something that nodes have in common: ``value`` returns it in words, None where it is not known.

    ``command`` is given a node that differs, and the value that it should have.
    """

    what: str
    value: Callable[[Look], str | None]
    command: Callable[[Look, str], str]


def _kernel_command(look: Look, wanted: str) -> str:
    packages = {"debian": f"apt-get install linux-image-{wanted}", "rhel": f"dnf install kernel-{wanted}"}
    package = packages.get(look.facts["os"]["family"] or "")
    return f"{package} && reboot" if package else by_hand(f"install kernel {wanted} and reboot")


def _drivers(look: Look) -> str | None:
    gpus = look.facts["gpus"]
    if gpus is None:
        return None
    driver = gpus["driver"]
    found = {driver["name"]: driver["version"]} if gpus["devices"] and driver["name"] else {}
    for device in look.facts["rdma"]["devices"]:
        if device["driver"]:
            found[device["driver"]] = device["driver_version"]
    return ", ".join(f"{name} {version or '(inbox)'}" for name, version in sorted(found.items())) or None


def _firmware(look: Look) -> str | None:
    gpus = look.facts["gpus"]
    if gpus is None:
        return None
    adapters = [device for device in look.facts["rdma"]["devices"] if device["firmware"]]
    found = {f"{device['provider'] or device['name']} {device['firmware']}" for device in adapters}
    for gpu in gpus["devices"]:
        found |= {f"GPU {name} {version}" for name, version in gpu["firmware"].items() if version}
    return ", ".join(sorted(found)) or None


def _gpus(look: Look) -> str | None:
    return gpus_in_words(look.facts["gpus"]) if look.facts["gpus"] else None


def _gpu_limits(look: Look) -> str | None:
    """Return what bounds the speed of the GPUs, as ``power cap 700 W, clock 1980 MHz, memory 140 GiB``.

    Where the GPUs of a node differ, all their values stand there: ``power cap 550/700 W``.
    """
    devices = look.facts["gpus"]["devices"] if look.facts["gpus"] else []
    known = [device["sensors"] for device in devices if device["sensors"]]
    values = {
        "power cap {} W": {round(one["power_limit"]) for one in known if one["power_limit"]},
        "clock {} MHz": {round(one["clock_limit"]) for one in known if one["clock_limit"]},
        "memory {} GiB": {round(device["memory_bytes"] / 2**30) for device in devices if device["memory_bytes"]},
    }
    return ", ".join(text.format("/".join(map(str, sorted(found)))) for text, found in values.items() if found) or None


_LOOK_AT = {"amd": "amd-smi static --limit", "nvidia": "nvidia-smi -q -d POWER,CLOCK"}


def _gpu_limits_command(look: Look, wanted: str) -> str:
    vendor = look.facts["gpus"]["vendor"] if look.facts["gpus"] else None
    cap = wanted.removeprefix("power cap ").removesuffix(" W")
    if cap.isdigit() and vendor == "nvidia":
        return f"nvidia-smi --power-limit={cap}"
    return by_hand(f"find out why this node does not have {wanted}", _LOOK_AT.get(vendor or "", "lspci"))


def _mtu(look: Look) -> str | None:
    interfaces = look.facts["network"]["interfaces"] or {}
    named = look.variable(next(iter(SOCKET_VARIABLES))) or proposed_interface(look) or ""
    name = named.lstrip("=").split(",")[0]
    parts = [f"socket {interfaces[name]['mtu']}"] if name in interfaces else []
    ports = [port for device in look.rdma_selection.devices for port in device["ports"]]
    rdma = sorted({port["mtu"] for port in ports if port["mtu"]})
    return ", ".join([*parts, *(f"RDMA {mtu}" for mtu in rdma)]) or None


def _mtu_command(look: Look, wanted: str) -> str:
    netdevs = [port["netdev"] for device in look.rdma_selection.devices for port in device["ports"] if port["netdev"]]
    name = (netdevs if "RDMA" in wanted else None) or [proposed_interface(look) or "INTERFACE"]
    return f"ip link set {name[0]} mtu {wanted.rpartition(' ')[2]}"


def _rdma(look: Look) -> str | None:
    providers = Counter(str(device["provider"]) for device in look.facts["rdma"]["devices"])
    return ", ".join(f"{count} × {provider}" for provider, count in sorted(providers.items())) or "none"


def _image(look: Look) -> str | None:
    engine = look.facts["engines"].get(look.engine or "")
    return engine["image"]["id"] if engine and engine["image"] else None


PROPERTIES = {
    "gpus": Property(
        "GPUs:",
        lambda look: ", ".join(filter(None, (_gpus(look), _gpu_limits(look)))) or None,
        _gpu_limits_command,
    ),
    "rdma": Property(
        "RDMA devices:",
        _rdma,
        lambda _, wanted: by_hand(f"find out why this node does not have {wanted}", "rdma link; lspci | grep -i eth"),
    ),
    "driver": Property("driver", _drivers, lambda _, wanted: by_hand(f"install {wanted}")),
    "firmware": Property("firmware", _firmware, lambda _, wanted: by_hand(f"update the firmware to {wanted}")),
    "gpu_limits": Property("GPU limits:", _gpu_limits, _gpu_limits_command),
    "mtu": Property("MTU", _mtu, _mtu_command),
    "image": Property(
        "image",
        _image,
        lambda look, wanted: f"{look.engine} pull {look.node['image']}   # the other nodes have {wanted[:19]}",
    ),
    "kernel": Property("kernel", lambda look: look.facts["kernel"], _kernel_command),
}


def drift_cells(name: str, looks: Sequence[Look]) -> dict[str, Cell]:
    """Return the cells of the nodes for one of the properties."""
    wanted = PROPERTIES[name]
    values = {look.name: wanted.value(look) for look in looks}
    counts = Counter(value for value in values.values() if value is not None)
    return {look.name: _cell(wanted, look, values[look.name], counts) for look in looks}


def _cell(wanted: Property, look: Look, value: str | None, counts: Counter[str]) -> Cell:
    if value is None:
        return grey("unknown")
    most, count = counts.most_common(1)[0]
    total = sum(counts.values())
    if count * 2 > total and value == most:
        return green(value)
    differing = _difference(value, most)
    if count * 2 > total:
        reason = f"{wanted.what} {differing[0]} here, {differing[1]} on {count} of {total} nodes"
        return red(differing[0], reason, wanted.command(look, differing[1]))
    others = f"{len(counts)} different values on {total} nodes, none with a majority"
    return red(
        differing[0], f"{wanted.what} {value} here; {others}", by_hand("choose one value and bring all nodes to it")
    )


def _difference(value: str, other: str) -> tuple[str, str]:
    """Return two lists of names with values, without the names that have the same value in both."""
    lists = [value.split(", "), other.split(", ")]
    differing = {_name(part) for part in set(lists[0]) ^ set(lists[1])}
    first, second = (", ".join(part for part in parts if _name(part) in differing) for parts in lists)
    return first or "nothing", second or "nothing"


def _name(part: str) -> str:
    return part.rpartition(" ")[0]
