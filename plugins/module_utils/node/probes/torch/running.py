# SPDX-License-Identifier: GPL-3.0-or-later
"""Running our script of PyTorch, and reading its output."""

from __future__ import annotations

import json
import os
import typing as t

from ...phase import NodeError
from ..known import PROBES

if t.TYPE_CHECKING:
    from ..programs import Programs

# It is staged with the isolation into the node's folder, which the container sees too.
SCRIPT = "torch_probe.py"
_PYTHONS = ("python3", "python")


class Meeting(t.NamedTuple):
    """How many nodes work together, this node's place among them, and where the first one listens."""

    nodes: int
    place: int
    address: str
    port: int


def python_of(programs: Programs) -> str:
    """Return the Python that has PyTorch; `NodeError` if none has."""
    python = programs.where(*_PYTHONS)
    if not python:
        raise NodeError("there is no Python")
    return python


def ran(
    name: str,
    arguments: t.Sequence[str],
    seconds: float,
    programs: Programs,
    environment: t.Mapping[str, str] | None = None,
) -> str:
    """Return the script's output for some arguments."""
    script = os.path.join(programs.node["run_folder"], SCRIPT)
    return programs.run(name, [python_of(programs), script, *arguments], seconds, environment)


def together(name: str, works: t.Sequence[str], meeting: Meeting, programs: Programs) -> list[dict[str, t.Any]]:
    """Return the lines of this node's GPUs for works that all GPUs of some nodes do together.

    Each node starts its own processes, as a training does, so nodes need not reach each other by SSH. `NodeError` if
    any GPU fails.
    """
    seconds = PROBES[name].seconds
    times = ["--patience", f"{seconds - 10:g}", "--limit", f"{seconds - 5:g}"]
    where = ["--nodes", str(meeting.nodes), "--node", str(meeting.place)]
    environment = {"MASTER_ADDR": meeting.address, "MASTER_PORT": str(meeting.port)}
    lines = lines_in(ran(name, [*where, *times, "--works", *works], seconds, programs, environment))
    for line in lines:
        if line["problem"]:
            raise NodeError(f"{part_of(line)}: {line['problem']}")
    return lines


def slowest_of(lines: t.Iterable[t.Mapping[str, t.Any]], work: str) -> list[float]:
    """Return the seconds of the slowest GPU in some work, empty if that cannot be done there."""
    return max((line["seconds"].get(work, []) for line in lines), key=sum)


def lines_in(output: str) -> list[dict[str, t.Any]]:
    """Return the lines of all GPUs; ValueError if there is none."""
    lines = [json.loads(line) for line in output.splitlines() if line.startswith('{"device"')]
    if not lines:
        raise ValueError("the script printed no results")
    return sorted(lines, key=lambda line: line["device"] or 0)


def part_of(line: t.Mapping[str, t.Any]) -> str:
    """Return the part that a line is about."""
    return "CPU" if line["device"] is None else f"GPU {line['device']}"
