# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm's commands: running them, and reading their output: jobs, nodes, switches, users, times.

Formats: https://slurm.schedmd.com/scontrol.html and https://slurm.schedmd.com/topology.html
"""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import subprocess
import typing as t
from collections.abc import Callable
from pathlib import Path

from ...module_utils.node.phase import NodeError
from ..plain_text import one_line

# The variable with the number of the job that a process is in.
_ALLOCATION = "SLURM_JOB_ID"
_PAIR = re.compile(r"([A-Za-z:/_]+)=(\S*)")
_NO_NODES = ("", "(null)")
# Slurm adds to a reason who gave it, and when.
_REASON = re.compile(r" Reason=(.*?) \[(\S*)@(\S+)\]")
_DAYS = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")


class SlurmError(NodeError):
    """Slurm refused a command; the text quotes it."""


class NoSlurmError(SlurmError):
    """This machine cannot submit jobs."""


def run_slurm(*command: str, cwd: Path | None = None, script: str | None = None) -> str:
    """Return the output of a Slurm command, with a script as its standard input; `SlurmError` with its message."""
    try:
        done = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, errors="replace", check=False, input=script or ""
        )
    except FileNotFoundError:
        raise NoSlurmError(
            f"{command[0]} is not installed. Run Ansible on a machine that can submit Slurm jobs, or set "
            "training_launcher to ssh"
        ) from None
    if done.returncode != 0:
        # scontrol's message if there is no such step.
        said = one_line(" ".join((done.stderr or done.stdout).split()))
        raise SlurmError(said or f"{command[0]} ended with exit status {done.returncode} and printed nothing")
    return done.stdout


def allocation_of(named: str) -> str:
    """Return the number of an allocation: the named one, or the one of this process; empty if there is none."""
    return named or os.environ.get(_ALLOCATION, "")


def environment_in(allocation: str | None) -> dict[str, str]:
    """Return the variables of srun in an allocation, or for one of its own; others of Slurm are options of salloc."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_") or name == "SLURM_CONF"}
    return kept if allocation is None else {**kept, _ALLOCATION: allocation}


def has_pyxis() -> bool:
    """Tell whether srun can make containers, as far as this machine knows."""
    with contextlib.suppress(SlurmError):
        return "--container-image" in run_slurm("srun", "--help")
    return False


def associations() -> tuple[frozenset[str] | None, frozenset[str] | None]:
    """Return the accounts and QOS of this user; None if Slurm has no accounting, or does not enforce it."""
    with contextlib.suppress(SlurmError):
        enforced = fields(run_slurm("scontrol", "show", "config").replace(" ", "")).get("AccountingStorageEnforce", "")
        if "associations" in enforced:
            shown = run_slurm(
                *("sacctmgr", "--noheader", "--parsable2", "show", "associations"),
                *(f"user={getpass.getuser()}", "format=account,qos"),
            )
            lines = [line.split("|") for line in shown.splitlines() if "|" in line]
            # An account without its own QOS inherits the QOS of the accounts above it.
            qos = frozenset(name for line in lines for name in line[1].split(",") if name)
            return frozenset(line[0] for line in lines), qos if qos and "qos" in enforced else None
    return None, None


class ReasonGiven(t.NamedTuple):
    """Why a node is out of service, who said so, and when: a time as Slurm prints it, which sorts as text."""

    reason: str
    by: str
    at: str

    def __str__(self) -> str:
        """Return the reason and who gave it in one line."""
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

    ``output`` is the output of ``scontrol --oneliner show topology``, and ``expand`` expands a hostlist.
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


def seconds_of(limit: str) -> int | None:
    """Return a time limit, in the format of sbatch and scontrol, in seconds; None if it is not a limit."""
    found = _DAYS.fullmatch(limit)
    if not found:
        return None
    days, first, second, third = (int(part) if part else None for part in found.groups())
    first, rest = first or 0, [part for part in (second, third) if part is not None]
    if days is not None:
        hours, minutes, seconds = [first, *rest, 0, 0][:3]
    elif len(rest) == 2:
        hours, minutes, seconds = first, *rest
    else:
        hours, minutes, seconds = 0, first, (rest or [0])[0]
    return (((days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
