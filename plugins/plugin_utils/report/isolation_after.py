# SPDX-License-Identifier: GPL-3.0-or-later
"""The follow-up of an isolation: bad nodes go into quarantine, and all measurements are recorded; both report it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ..answer_values import first_wrong
from ..contracts import Reason
from ..isolate.isolation import Isolation
from ..isolate.outcome import failing_nodes, findings_against, probes_against, proven_nodes
from ..run.quarantine import Fault, Found, Quarantine
from ..text.slowness import signed
from ..text.words import listed
from .files import ISOLATIONS, PROBES
from .isolation_write import JSON
from .node_memory import memory_of, read_probes, rows_of, usual_drifts, write_nodes_page, write_probes


class Written(Isolation):
    """The result of an isolation, and whether it was a ``rehearsal``, which proves nothing about its nodes."""

    rehearsal: bool


def isolation_in(isolations: Path, name: str) -> Written:
    """Return the result of a named isolation in a folder; ValueError if it is missing or has no result."""
    path = isolations / name / JSON
    there = sorted(one.parent.name for one in isolations.glob(f"*/{JSON}"))
    if name not in there:
        latest = f"the latest ones are {', '.join(there[-5:])}" if there else "there are none"
        raise ValueError(f"{isolations} has no isolation {name!r} that found anything: {latest}")
    try:
        return TypeAdapter(Written).validate_json(path.read_bytes())
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise ValueError(f"{path} was not written by an isolation ({first_wrong(error)})") from None


_MOST_NAMED = 8


def update_quarantine(quarantine: Quarantine, name: str, isolation: Isolation, days: float) -> list[str]:
    """Keep bad nodes out of runs for so many days (0: not at all), and release nodes that were found good again."""
    lines = []
    try:
        if days and failing_nodes(isolation):
            lines.append(quarantine_bad_nodes(quarantine, name, isolation, days))
        if released := quarantine.release_found(proven_nodes(isolation), isolation["tests"]["probes"]):
            lines.append(f"Released from quarantine: {listed(released, _MOST_NAMED)}")
    except (ValueError, OSError) as error:
        lines.append(f"The quarantine was left as it is: {error}")
    return lines


def quarantine_bad_nodes(quarantine: Quarantine, name: str, isolation: Isolation, days: float) -> str:
    """Keep bad nodes out of runs for so many days, and return a line about that; raises the list's errors."""
    found = {
        node: Found([_fault_of(one) for one in findings], probes_against(isolation, node))
        for node, findings in findings_against(isolation).items()
    }
    quarantine.add_found(found, name, days)
    return f"In quarantine for {days:g} days: {listed(found, _MOST_NAMED)}"


def _fault_of(finding: Reason) -> Fault:
    """Return a finding in the form of the quarantine list."""
    values = finding.get("values", {})
    return Fault(code=finding["code"], case=finding.get("case", ""), values=values, message=finding["message"])


def remember_measurements(runs: Path, name: str, isolation: Isolation, at: datetime) -> list[str]:
    """Add the measurements to the nodes' history in a folder of runs, and write the page of nodes there."""
    history = runs / ISOLATIONS / PROBES
    try:
        write_probes(history, rows_of(name, isolation, at))
        drifts = usual_drifts(memory_of(read_probes(history)[0]), name, isolation["seconds"])
        since = [f"{signed(by)} ({probe})" for probe, by in drifts.items()]
        compared = [f"Time against the same nodes' earlier isolations: {', '.join(since)}"] if since else []
        return [*compared, f"All nodes: {write_nodes_page(runs)}"]
    except OSError as error:
        return [f"The nodes' history was not written: {error}"]
