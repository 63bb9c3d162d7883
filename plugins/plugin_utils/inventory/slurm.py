# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading the output of Slurm's scontrol: the nodes of a job or reservation, and the switches above them.

Format: https://slurm.schedmd.com/scontrol.html and https://slurm.schedmd.com/topology.html
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable

from ..plain_text import one_line

_PAIR = re.compile(r"([A-Za-z:/_]+)=(\S*)")
_NO_NODES = ("", "(null)")
# Slurm adds to a reason who gave it, and when.
_REASON = re.compile(r" Reason=(.*?) \[(\S*)@(\S+)\]")


class ReasonGiven(t.NamedTuple):
    """Why a node is out of service, who said so, and when: a time as Slurm prints it, whose order is that of texts."""

    reason: str
    by: str
    at: str

    def __str__(self) -> str:
        """Return the reason and who gave it, as one line."""
        return one_line(f"{self.reason} ({self.by})")


def reason_given(line: str) -> ReasonGiven | None:
    """Return why a node is out of service, by the line that ``scontrol --oneliner show node`` prints of it."""
    found = _REASON.search(line)
    return ReasonGiven(*found.groups()) if found else None


def fields(line: str) -> dict[str, str]:
    """Return the ``Name=value`` pairs of a line that ``scontrol --oneliner show`` prints."""
    return dict(_PAIR.findall(line))


def nodes_of(output: str, kind: str, name: str) -> str:
    """Return the hostlist in the output of ``scontrol --oneliner show job`` or ``show reservation``.

    Raise ValueError if the job or reservation does not exist or has no nodes (a pending job).
    """
    key = "NodeList" if kind == "job" else "Nodes"
    found = fields(output)
    if found.get(key, "") in _NO_NODES:
        state = found.get("JobState") or found.get("State")
        raise ValueError(f"the {kind} {name} has no nodes{f': its state is {state}' if state else ''}")
    return found[key]


def switches(output: str, expand: Callable[[str], list[str]]) -> dict[str, tuple[str, ...]]:
    """Return the switches above each node, outermost first.

    ``output`` is what ``scontrol --oneliner show topology`` prints, and ``expand`` expands a hostlist.
    """
    lines = [fields(line) for line in output.splitlines() if line.startswith("SwitchName=")]
    parents = {
        child: line["SwitchName"]
        for line in lines
        if line.get("Switches", "") not in _NO_NODES
        for child in expand(line["Switches"])
    }
    leaves = [line for line in lines if line.get("Level") == "0" and line.get("Nodes", "") not in _NO_NODES]
    return {node: _above(leaf["SwitchName"], parents) for leaf in leaves for node in expand(leaf["Nodes"])}


def _above(switch: str, parents: dict[str, str]) -> tuple[str, ...]:
    path = [switch]
    while (parent := parents.get(path[0])) and parent not in path:
        path.insert(0, parent)
    return tuple(path)
