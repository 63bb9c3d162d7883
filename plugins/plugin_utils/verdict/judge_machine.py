# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of a run's machines, measured on them: the second level of evidence.

These checks do not read the training logs. A fault that ended a rank or takes a node out of service fails the run, even
if the run trained to its end. A fault that was contained, corrected or recovered is a note for the owner of the node.
Two tables tell them apart: `module_utils.node.machine_facts` for kernel messages, `MEASURED` for counters, links and
sensors.
"""

from __future__ import annotations

import math
import typing as t
from collections import Counter
from collections.abc import Iterable, Mapping

from ...module_utils.node.machine_changes import faults_of_links
from ...module_utils.node.machine_facts import ROW_OF, is_failure
from ..contracts import Echo, FirstFailure, Machine, Status
from ..plan.job.rdma import device_names, devices_of
from ..text.failures import end_in_words
from .reasons import FAIL, Reasons, as_json

if t.TYPE_CHECKING:
    from ...module_utils.node.contracts import MachineFact
    from .machine_events import AcceleratorsSeen
    from .seen import Seen

Details = list[dict[str, t.Any]]


class Measured(t.NamedTuple):
    """A measurement on a node: its effect, and the source for that effect; `text.machine` has its words."""

    effect: str
    source: str


MEASURED = {
    "booted": Measured("fail", "Linux, /proc/sys/kernel/random/boot_id"),
    "port_down": Measured("fail", "Linux, Documentation/ABI/stable/sysfs-class-infiniband: state"),
    "link_gone": Measured("note", "Linux, sysfs-class-net: operstate"),
    "link_back": Measured("note", "Linux, sysfs-class-infiniband: link_downed; net: carrier_changes"),
    "port_errors": Measured("note", "Linux, sysfs-class-infiniband: symbol_error, …"),
    "ecc_uncorrected": Measured("note", "NVIDIA GPU Memory Error Management: error containment"),
    "ecc_corrected": Measured("note", "NVIDIA GPU Memory Error Management"),
    "thermal": Measured("note", "NVML, nvmlClocksEventReasons: HW and SW thermal slowdown"),
    "power_brake": Measured("note", "NVML, nvmlClocksEventReasons: HW power brake slowdown"),
}
# The reasons for a lower clock that count as faults.
_SLOWED = {"thermal": "thermal", "power brake": "power_brake"}
_NAMED = 4


def judge_machine(seen: Seen, reasons: Reasons) -> None:
    """Note the machines' faults: a reason for each node with a fault that fails the run, and notes for the rest."""
    notes: dict[str, dict[str, Details]] = {}
    for status in seen.statuses:
        node = status["node"]
        for name, effect, details in [*_kernel_facts(seen, status), *_measured(seen, status)]:
            if effect == "fail":
                lines = _lines(status["machine"], name)
                reasons.argue(FAIL, "machine_fault", node, fact=name, details=details, lines=lines)
            else:
                notes.setdefault(name, {}).setdefault(node, []).extend(details)
    for name, by_node in notes.items():
        _note(seen, name, by_node, reasons)


def first_of_machine(seen: Seen) -> FirstFailure | None:
    """Return the first machine that failed, in the form of `first_failure`, or None if none did.

    Measured faults come after kernel messages, because their time is unknown.
    """
    failed = [(math.inf, _measured_failure(node, name, details)) for node, name, details in _failed_by_measure(seen)]
    said = [
        (fact["seconds"], _said_failure(status["node"], fact))
        for status in seen.statuses
        for fact in _failures_of(status["machine"])
    ]
    ordered = [failure for _seconds, failure in sorted([*said, *failed], key=lambda one: one[0])]
    if not ordered:
        return None
    first = ordered[0]
    status = next(one for one in seen.statuses if one["node"] == first["node"])
    others = {other["node"]: other for other in reversed(ordered) if other["node"] != first["node"]}
    meanings = dict.fromkeys(ROW_OF[fact["fact"]].means for fact in _failures_of(status["machine"]))
    return {
        **first,
        "node_rank": status["node_rank"],
        "origin": "node",
        "evidence": [other["message"] for other in ordered if other["node"] == first["node"]],
        "rank": None,
        "named": {},
        "remedy": f"Drain the node, and repair it: {'; '.join(meanings) or first['message']}.",
        "exit_code": status["process"]["exit_status"],
        "echoes": list(others.values()),
    }


def _said_failure(node: str, fact: MachineFact) -> Echo:
    return {"node": node, "class": "node_failure", "message": fact["line"], "line": fact["line"]}


def _measured_failure(node: str, name: str, details: Details) -> Echo:
    values = {"fact": name, "details": details}
    message = end_in_words("node_failure", "measured", values)
    measured = {"case": "measured", "values": as_json(values), "message": message}
    return t.cast("Echo", {"node": node, "class": "node_failure", **measured})


def _failed_by_measure(seen: Seen) -> Iterable[tuple[str, str, Details]]:
    for status in seen.statuses:
        for name, effect, details in _measured(seen, status):
            if effect == "fail":
                yield status["node"], name, details


def _failures_of(machine: Machine) -> list[MachineFact]:
    return [fact for fact in _facts_of(machine) if is_failure(fact)]


def _facts_of(machine: Machine) -> list[MachineFact]:
    changes = machine["changes"]
    return changes.get("facts", []) if changes else []


def _kernel_facts(seen: Seen, status: Status) -> Iterable[tuple[str, str, Details]]:
    """Yield name, effect and details of each fact in a node's kernel log; a fact about two devices comes twice."""
    for fact in _facts_of(status["machine"]):
        detail = {
            "device": fact["device"],
            "seconds": fact["seconds"],
            "step": _step_at(seen, status, fact["seconds"]),
            "count": fact["count"],
            "recovered": fact["recovered"],
        }
        yield fact["fact"], "fail" if is_failure(fact) else "note", [detail]


def _measured(seen: Seen, status: Status) -> Iterable[tuple[str, str, Details]]:
    """Yield name, effect and details of each fault measured on a node."""
    node, machine = status["node"], status["machine"]
    found = {**_of_network(seen, node, machine), **_of_accelerators(seen.accelerators.get(node))}
    changes = machine["changes"]
    if changes and changes["booted"]:
        found = {"booted": []}
    for name, details in found.items():
        yield name, MEASURED[name].effect, details


def _of_network(seen: Seen, node: str, machine: Machine) -> dict[str, Details]:
    changes = machine["changes"]
    if not changes:
        return {}
    planned = next((devices_of(one) for one in seen.plan["nodes"] if one["node"] == node), None)
    used = planned or device_names(None)
    down = changes.get("links_down", [])
    ports = [port for port in down if "/" in port and used.select(port.partition("/")[0])]
    found = {
        "port_down": [{"link": link} for link in ports],
        "link_gone": [{"link": link} for link in down if link not in ports],
        **faults_of_links(changes),
    }
    return {name: details for name, details in found.items() if details}


def _of_accelerators(seen: AcceleratorsSeen | None) -> dict[str, Details]:
    if seen is None:
        return {}
    found = {
        name: [{"gpu": number, "errors": count} for number, count in sorted(counts.items()) if count]
        for name, counts in seen.errors.items()
    }
    for reason, name in _SLOWED.items():
        slowed = sorted(seen.held_down.get(reason, Counter()).items())
        found[name] = [{"gpu": number, "samples": count, "samples_taken": seen.samples} for number, count in slowed]
    return {name: details for name, details in found.items() if details}


def _note(seen: Seen, name: str, by_node: Mapping[str, Details], reasons: Reasons) -> None:
    """Note a fault of some nodes: with details for one node, with the names alone for several."""
    if len(by_node) == 1:
        ((node, details),) = by_node.items()
        lines = next((_lines(status["machine"], name) for status in seen.statuses if status["node"] == node), [])
        reasons.remark("machine_note", node, fact=name, details=details, lines=lines)
        return
    some = {node: details[:_NAMED] for node, details in list(by_node.items())[:_NAMED]}
    reasons.remark("machine_note", case="several_nodes", nodes=list(by_node), fact=name, details=some)


def _lines(machine: Machine, name: str) -> list[str]:
    return [fact["line"] for fact in _facts_of(machine) if fact["fact"] == name][:_NAMED]


def _step_at(seen: Seen, status: Status, seconds: float) -> int | None:
    """Return the step that was trained so long after the start, counted back from the end by the step times."""
    started_at, ended_at = status["process"]["started_at"], status["process"]["ended_at"]
    rows = seen.attempts.get(status["node"])
    if rows is None and seen.together:
        rows = next(iter(seen.attempts.values()), None)
    if rows is None or started_at is None or ended_at is None or "step_time_ms" not in rows:
        return None
    times = rows["step_time_ms"] / 1e3
    before_end = ended_at - started_at - seconds
    # How long before the end each step began.
    began = times[::-1].cumsum()[::-1]
    during = rows["step"][(began >= before_end) & (began - times <= before_end)]
    return int(during[0]) if len(during) else None
