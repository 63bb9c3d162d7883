# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts about nodes that are no measurement of speed: missing GPUs and ports."""

from __future__ import annotations

import re
import typing as t
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ..contracts import Reason
from ..text.isolation import isolation_finding
from .answers import Present
from .measured import Fact, Suspect

# A node alone says nothing about the others.
_LEAST_PEERS = 2
_ACTIVE = "ACTIVE"
_RATE = re.compile(r"[0-9.]+")
_GPUS = "GPUs"


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


def suspect_of(fact: Reason) -> Suspect:
    """Return a node that a fact makes unusable, whatever its speed."""
    beside: Fact = t.cast("Fact", fact)
    return {
        "node": fact["node"],
        "other": None,
        "part": fact["values"]["part"],
        "probe": fact["code"],
        "verdict": "broken",
        "slower_by": None,
        "interval": None,
        "evidence": isolation_finding("fact", fact["code"])["message"],
        "fact": beside,
    }


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
