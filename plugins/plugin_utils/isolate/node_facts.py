# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts about nodes that are no measurement of speed: missing parts, foreign processes, faults that they reported."""

from __future__ import annotations

import re
import statistics
import typing as t
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from ...module_utils.node.contracts import MachineChanges
from ...module_utils.node.machine_changes import faults_of_links
from ...module_utils.node.machine_facts import is_failure
from ..contracts import Reason
from ..text.isolation import isolation_finding
from .answers import Present
from .judge import Judged
from .measured import Fact, Suspect, Unproved
from .readings import OF_GPUS, probe_of

# A node alone says nothing about the others.
_LEAST_PEERS = 2
_ACTIVE = "ACTIVE"
_RATE = re.compile(r"[0-9.]+")
_GPUS = "GPUs"
# A share of all processors that disturbs tests, beyond the median of the nodes.
_BUSY = 0.25
# Programs cause these facts of `machine_facts` as well, so they prove nothing about the hardware.
_OF_SOFTWARE = frozenset(
    ("xid_13", "xid_31", "xid_43", "xid_45", "xid_other", "memory_kill", "hung_task", "lockup", "file_server")
)


def missing_parts(
    present: Mapping[str, Present], models: Mapping[str, str], inventory: Mapping[str, int]
) -> list[Reason]:
    """Return the GPUs and ports that a node lacks, given the ``models`` of nodes and the GPUs in the ``inventory``.

    The inventory's number counts only if any node has GPUs: nodes without any rehearse with their CPUs. All nodes of a
    model should have the parts that at least half of them have.
    """
    asked = inventory if any(one["gpus"] for one in present.values()) else {}
    return [
        finding
        for node, one in present.items()
        for peers in [_peers(node, present, models)]
        for finding in (*_missing_gpus(node, one, peers, asked.get(node, 0)), *_bad_ports(node, one, peers))
    ]


def foreign_processes(present: Mapping[str, Present]) -> list[Reason]:
    """Return the nodes whose GPUs or processors others use: slowness there proves no fault.

    Processors count only if more of them are busy than on other nodes: nodes may share a machine, or a service.
    """
    usual = statistics.median([one["busy_cores"] / one["cores"] for one in present.values()] or [0.0])
    found = []
    for node, one in present.items():
        if one["on_gpus"]:
            found.append(isolation_finding("occupied", "gpus", node, processes=one["on_gpus"]))
        if one["busy_cores"] / one["cores"] - usual > _BUSY:
            values = {"busy": one["busy_cores"], "cores": one["cores"], "processes": one["busy"]}
            found.append(isolation_finding("occupied", "cores", node, **values))
    return found


def reported_faults(changes: Mapping[str, MachineChanges], present: Mapping[str, Present]) -> list[Reason]:
    """Return the faults that nodes reported during their tests, each with whether it ``fails`` the node.

    A kernel message that takes the node out of service does, and so does a port of a training that lost its link.
    """
    return [
        isolation_finding("reported", "", node, fact=name, details=details, fails=fails)
        for node, one in changes.items()
        for name, fails, details in _reported(one, present[node]["ports"] if node in present else {})
    ]


def _reported(changes: MachineChanges, ports: Collection[str]) -> Iterator[tuple[str, bool, list[dict[str, t.Any]]]]:
    of_kernel: dict[tuple[str, bool], list[dict[str, t.Any]]] = {}
    for fact in changes["facts"]:
        detail = {name: value for name, value in fact.items() if name not in ("fact", "line")}
        of_kernel.setdefault((fact["fact"], is_failure(fact)), []).append({**detail, "step": None})
    for (name, fails), details in of_kernel.items():
        yield name, fails, details
    for link in changes["links_down"]:
        yield "port_down" if link in ports else "link_gone", link in ports, [{"link": link}]
    for name, details in faults_of_links(changes).items():
        if details:
            yield name, False, details


def with_facts(
    found: Judged, missing: Sequence[Reason], occupied: Sequence[Reason], reported: Sequence[Reason]
) -> Judged:
    """Return who is bad and who may be, given the facts about nodes.

    Nodes that lack something, or that reported a fault that takes them out of service, are bad, whatever their speed. A
    node that was slow both times without proof is bad as well if its hardware reported a fault meanwhile.
    """
    grave = [fact for fact in reported if fact["values"]["fails"]]
    of_hardware = {
        fact["node"]: fact for fact in reversed(reported) if fact["values"]["fact"] not in _OF_SOFTWARE | {"link_gone"}
    }
    facts = [suspect_of(fact) for fact in (*missing, *grave)]
    known = {(one["node"], one["part"]) for one in facts}
    bad = {one["node"] for one in facts}
    proved = [
        _proved(one, of_hardware[one["node"]])
        for one in found.unproved
        if _is_proved_by(one, of_hardware) and one["node"] not in bad
    ]
    bad |= {one["node"] for one in proved}
    measured = [_beside(one, occupied, reported) for one in found.suspects if (one["node"], one["part"]) not in known]
    unproved = [one for one in found.unproved if not bad & {one["node"], one["other"]}]
    return Judged([*facts, *measured, *proved], unproved)


def _is_proved_by(one: Unproved, of_hardware: Mapping[str, Reason]) -> bool:
    slow_twice = one["slower_by"] is not None and one.get("tested_again", True)
    return one["node"] in of_hardware and one["other"] is None and slow_twice


def _proved(one: Unproved, fact: Reason) -> Suspect:
    of_part = {"part": one["part"], "probe": one["probe"]}
    values = {**fact["values"], **of_part, "slower_by": one["slower_by"]}
    slow = isolation_finding("reported", "slow", one["node"], **values)
    return {**suspect_of(slow), "probe": one["probe"], "verdict": "slow", "slower_by": one["slower_by"]}


def _beside(one: Suspect, occupied: Sequence[Reason], reported: Sequence[Reason]) -> Suspect:
    """Return a suspect with the facts about its nodes beside the evidence of the probe."""
    nodes, of_gpus = {one["node"], one["other"]}, probe_of(one["probe"]) in OF_GPUS
    users = [fact for fact in occupied if fact["node"] in nodes and (fact["case"] == "gpus") is of_gpus]
    beside = [fact["message"] for fact in (*users, *reported) if fact["node"] in nodes]
    suspect: Suspect = {**one, "evidence": "; ".join([one["evidence"], *beside])}
    return {**suspect, "occupied": True} if users else suspect


def suspect_of(fact: Reason) -> Suspect:
    """Return a node that a fact makes unusable, whatever its speed."""
    beside: Fact = t.cast("Fact", fact)
    values = fact["values"]
    return {
        "node": fact["node"],
        "other": None,
        "part": values["part"] if "part" in values else _device_of(values["details"]),
        "probe": fact["code"],
        "verdict": "broken",
        "slower_by": None,
        "interval": None,
        "evidence": isolation_finding("fact", fact["code"])["message"],
        "fact": beside,
    }


def _device_of(details: Sequence[Mapping[str, t.Any]]) -> str:
    return next((name for one in details if (name := one.get("link") or one.get("device"))), "") or "machine"


def _peers(node: str, present: Mapping[str, Present], models: Mapping[str, str]) -> list[Present]:
    """Return the others of a node's model; GPUs in the model's name do not count for a node without any."""
    model, gpus = models.get(node, ""), present[node]["gpus"]
    alike = {other for other in present if models.get(other, "") == model}
    if not gpus:
        alike |= {other for other in present if models.get(other, "").startswith(f"{model}, ")}
    return [present[other] for other in present if other in alike - {node}]


def _missing_gpus(node: str, one: Present, peers: Sequence[Present], asked: int) -> Iterator[Reason]:
    here = len(one["gpus"])
    usual, others = _usual([len(peer["gpus"]) for peer in peers])
    values = {"part": _GPUS, "gpus": here}
    if here < usual:
        at = [address for peer in peers if len(peer["gpus"]) == usual for address in peer["gpus"]]
        missing = sorted(address for address, count in Counter(at).items() if count == others)
        lacking = [address for address in missing if address not in one["gpus"]]
        case, more = ("others_at", {"missing": lacking}) if len(lacking) == usual - here else ("others", {})
        yield isolation_finding("missing", case, node, **values, usual=usual, others=others, **more)
    elif here < asked:
        yield isolation_finding("missing", "inventory", node, **values, asked=asked)
    elif here < (one["on_bus"] or 0):
        yield isolation_finding("missing", "driver", node, **values, on_bus=one["on_bus"])


def _bad_ports(node: str, one: Present, peers: Sequence[Present]) -> Iterator[Reason]:
    for port in dict.fromkeys(port for peer in peers for port in peer["ports"]):
        active = [peer["ports"][port] for peer in peers if port in peer["ports"]]
        rates = [_rate(state["rate"]) for state in active if state["state"] == _ACTIVE]
        if len(rates) < _LEAST_PEERS or 2 * len(rates) < len(peers):
            continue
        values = {"part": f"HCA {port.partition('/')[0]}", "port": port, "others": len(rates)}
        here = one["ports"].get(port)
        if here is None:
            yield isolation_finding("missing", "port", node, **values)
        elif here["state"] != _ACTIVE:
            yield isolation_finding("missing", "link", node, **values, state=here["state"] or "unknown")
        elif 0 < _rate(here["rate"]) < (usual := _usual(rates))[0]:
            values |= {"others": usual[1], "rate": _rate(here["rate"]), "usual": usual[0]}
            yield isolation_finding("missing", "rate", node, **values)


def _usual(values: Sequence[float]) -> tuple[float, int]:
    """Return the value that at least half of the others have, and how many do; 0 if there is none."""
    value, count = Counter(values).most_common(1)[0] if values else (0, 0)
    return (value, count) if count >= _LEAST_PEERS and 2 * count >= len(values) else (0, 0)


def _rate(printed: str | None) -> float:
    """Return the number of a rate such as ``400 Gb/sec (4X NDR)``."""
    found = _RATE.match(printed or "")
    return float(found.group()) if found else 0.0
