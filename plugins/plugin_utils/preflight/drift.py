# SPDX-License-Identifier: GPL-3.0-or-later
"""Drift: properties that must be the same on all nodes and are not.

The nodes that differ from the majority are red. Without a majority all nodes are red: somebody has to decide. They are
yellow if they differ only in what lets them train, such as the BIOS.
"""

from __future__ import annotations

import json
import typing as t
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass

from .cells import Cell, green, grey, red, yellow
from .check_network import SOCKET_VARIABLES, proposed_interface
from .check_processors import models_of
from .look import Look

# The values of a property on a node, by name: a count, or a list in order.
Values: t.TypeAlias = dict[str, t.Any]


@dataclass(frozen=True)
class Property:
    """Something that nodes have in common: ``values`` returns it, empty where it is not known.

    ``remedy`` selects the advice from a node that differs and the values that it should have.
    ``more`` returns further values of the node for that.
    """

    values: Callable[[Look], Values]
    remedy: Callable[[Look, Values], str] = lambda _look, _wanted: ""
    more: Callable[[Look, Values], Values] = lambda _look, _wanted: {}


def _drivers(look: Look) -> Values:
    gpus = look.facts["gpus"]
    if gpus is None:
        return {}
    driver = gpus["driver"]
    found = {driver["name"]: driver["version"]} if gpus["devices"] and driver["name"] else {}
    for device in look.facts["rdma"]["devices"]:
        if device["driver"]:
            found[device["driver"]] = device["driver_version"]
    return {name: [version or None] for name, version in sorted(found.items())}


def _firmware(look: Look) -> Values:
    gpus = look.facts["gpus"]
    if gpus is None:
        return {}
    adapters = [device for device in look.facts["rdma"]["devices"] if device["firmware"]]
    found = {(str(device["provider"] or device["name"]), str(device["firmware"])) for device in adapters}
    for gpu in gpus["devices"]:
        found |= {(f"GPU {name}", str(version)) for name, version in gpu["firmware"].items() if version}
    if look.facts["bios"]:
        found.add((_BIOS, look.facts["bios"]))
    values: Values = {}
    for name, version in sorted(found):
        values.setdefault(name, []).append(version)
    return values


def _gpus(look: Look) -> Values:
    return {"gpus": models_of(look.facts["gpus"])} if look.facts["gpus"] else {}


def _gpu_limits(look: Look) -> Values:
    """Return the limits on the speed of the GPUs; if the GPUs of a node differ, all their values."""
    devices = look.facts["gpus"]["devices"] if look.facts["gpus"] else []
    known = [device["sensors"] for device in devices if device["sensors"]]
    found = {
        "power_cap_watts": {round(one["power_limit"]) for one in known if one["power_limit"]},
        "clock_mhz": {round(one["clock_limit"]) for one in known if one["clock_limit"]},
        "memory_gib": {round(device["memory_bytes"] / 2**30) for device in devices if device["memory_bytes"]},
    }
    return {name: sorted(values) for name, values in found.items() if values}


def _remedy_of_limits(look: Look, wanted: Values) -> str:
    vendor = look.facts["gpus"]["vendor"] if look.facts["gpus"] else None
    only_power = list(wanted) == ["power_cap_watts"] and len(wanted["power_cap_watts"]) == 1
    return "power_cap" if only_power and vendor == "nvidia" else vendor or ""


def _mtu(look: Look) -> Values:
    interfaces = look.facts["network"]["interfaces"] or {}
    named = look.variable(next(iter(SOCKET_VARIABLES))) or proposed_interface(look) or ""
    name = named.lstrip("=").split(",")[0]
    found: Values = {"socket_mtu": [interfaces[name]["mtu"]]} if name in interfaces else {}
    ports = [port for device in look.rdma_selection.devices for port in device["ports"]]
    rdma = sorted({port["mtu"] for port in ports if port["mtu"]})
    return found | ({"rdma_mtu": rdma} if rdma else {})


def _interface(look: Look, wanted: Values) -> Values:
    """Return the interface whose MTU is to be set."""
    netdevs = [port["netdev"] for device in look.rdma_selection.devices for port in device["ports"] if port["netdev"]]
    own = proposed_interface(look) or "INTERFACE"
    return {"interface": netdevs[0] if "rdma_mtu" in wanted and netdevs else own}


def _rdma(look: Look) -> Values:
    providers = Counter(str(device["provider"]) for device in look.facts["rdma"]["devices"])
    return dict(sorted(providers.items()))


def _image(look: Look) -> Values:
    engine = look.facts["engines"].get(look.engine or "")
    return {"image": [engine["image"]["id"]]} if engine and engine["image"] else {}


def _kernel(look: Look) -> Values:
    system = look.facts["os"]
    named = {_SYSTEM: [f"{system['id']} {system['version']}"]} if system["id"] and system["version"] else {}
    return {"kernel": [look.facts["kernel"]], **named} if look.facts["kernel"] else {}


def _family(look: Look, wanted: Values) -> str:
    return look.facts["os"]["family"] or "" if "kernel" in wanted else _SYSTEM


_BIOS, _SYSTEM = "BIOS", "system"
# A training runs on nodes that differ in these, if at another speed.
_COST_SPEED = {_BIOS, _SYSTEM}
# What having none of it means no less than having some.
_MAY_BE_NONE = frozenset({"rdma"})
PROPERTIES = {
    "gpus": Property(lambda look: _gpus(look) | _gpu_limits(look), _remedy_of_limits),
    "rdma": Property(_rdma),
    "driver": Property(_drivers),
    "firmware": Property(_firmware),
    "gpu_limits": Property(_gpu_limits, _remedy_of_limits),
    "mtu": Property(_mtu, lambda _look, wanted: "rdma" if "rdma_mtu" in wanted else "", _interface),
    "image": Property(_image, more=lambda look, _wanted: {"engine": look.engine, "image": look.node["image"]}),
    "kernel": Property(_kernel, _family),
}


def drift_cells(name: str, looks: Sequence[Look]) -> dict[str, Cell]:
    """Return the cells of the nodes for one of the properties."""
    values = {look.name: PROPERTIES[name].values(look) for look in looks}
    counts = Counter(_key(one) for one in values.values() if one or name in _MAY_BE_NONE)
    known = [json.loads(key) for key in counts]
    differing = {one for values in known for other in known for one in _differing(values, other)}
    return {look.name: _cell(name, look, values[look.name], counts, differing) for look in looks}


def _key(values: Mapping[str, t.Any]) -> str:
    """Return values as a key of a dictionary that `json.loads` turns into them again."""
    return json.dumps(values)


def _cell(name: str, look: Look, own: Values, counts: Counter[str], differing: Set[str]) -> Cell:
    if not own and name not in _MAY_BE_NONE:
        return grey("unknown")
    key, count = counts.most_common(1)[0]
    most, nodes_judged = json.loads(key), sum(counts.values())
    if count * 2 > nodes_judged and _key(own) == key:
        return green(f"{name}_alike", here=own)
    if count * 2 <= nodes_judged:
        verdict = yellow if differing <= _COST_SPEED else red
        return verdict(f"{name}_differs", "no_majority", here=own, values=len(counts), nodes_judged=nodes_judged)
    here, wanted = _differing(own, most), _differing(most, own)
    values: Values = {"here": here, "most": wanted, "nodes": count, "nodes_judged": nodes_judged}
    of = PROPERTIES[name]
    verdict = yellow if {*here, *wanted} <= _COST_SPEED else red
    return verdict(f"{name}_differs", remedy=of.remedy(look, wanted), **values, **of.more(look, wanted))


def _differing(values: Values, other: Values) -> Values:
    """Return the values that the other node does not have alike."""
    return {name: value for name, value in values.items() if value != other.get(name)}
