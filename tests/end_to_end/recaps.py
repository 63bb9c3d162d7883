# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts of a play in the recap and in the lines of tasks."""

from __future__ import annotations

import re

from ClusterShell.NodeSet import NodeSet


def recap(output: str) -> dict[str, tuple[int, int]]:
    """How often each host failed, and was unreachable."""
    rows = re.findall(r"^([\w,\[\]-]+) +: ok=\d+ .*unreachable=(\d+) +failed=(\d+)", output, re.MULTILINE)
    counts = {host: (int(failed), int(dark)) for hosts, dark, failed in rows for host in NodeSet(hosts)}
    return {host: found for host, found in counts.items() if host != "localhost"}


def changes(output: str) -> list[int]:
    """How many tasks changed something, in each line of the recap."""
    return [int(number) for number in re.findall(r"changed=(\d+)", output.split("PLAY RECAP", 1)[1])]


def blamed(output: str) -> set[str]:
    """The hosts that a line of a task names as fatal."""
    lines = re.findall(r"^(?:fatal|failed|unreachable): \[(\S+)\][ :]", output, re.MULTILINE)
    return {host for hosts in lines for host in NodeSet(hosts)}
