# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of a hung job that do not answer to NCCL's RAS, by its report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..contracts import Hang
from .missing_ranks import Late

# "Process 3487984 on node 172.16.64.213 managing GPU 5", below one of these; see docs.nvidia.com, NCCL, RAS.
_TITLES = ("INCOMPLETE", "DEAD")
_OTHER_TITLE = re.compile(r"#.*|[A-Z]+|Errors|Warnings")
_PROCESS = re.compile(r"Process \d+ on node (\S+) managing GPUs? ([\d, ]+)")
_PREFIX = "NCCL RAS: "


def unresponsive(hangs: Iterable[Hang], nodes: Mapping[str, str]) -> tuple[Late | None, list[str]]:
    """Return the process that does not answer, if all that do not are on one node, and the report as evidence.

    ``nodes`` are the names of nodes by their addresses; of other addresses nothing is known.
    """
    report = next((hang["ras"] for hang in hangs if hang["ras"]), [])
    found: dict[str, set[str]] = {}
    below = False
    for line in map(str.strip, report):
        process = _PROCESS.fullmatch(line)
        if _OTHER_TITLE.fullmatch(line):
            below = line in _TITLES
        elif below and process:
            found.setdefault(nodes.get(process[1], ""), set()).update(re.findall(r"\d+", process[2]))
    lines = [f"{_PREFIX}{line.strip()}" for line in report]
    if len(found) != 1 or "" in found:
        return None, lines
    node, gpus = next(iter(found.items()))
    which = f"GPU {', '.join(sorted(gpus, key=int))}"
    return Late(node, None, "its process does not answer to NCCL's RAS", f"{which} of {node}"), lines
