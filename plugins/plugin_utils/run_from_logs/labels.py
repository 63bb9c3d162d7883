# SPDX-License-Identifier: GPL-3.0-or-later
"""Assigns each line of a file of several nodes to its node, by the line's prefix.

A line's *label* identifies its node: the host or pod, the launcher's task, or for Primus the number of the node.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...module_utils.logs.prefixes import Line, Prefix, host_named_in
from ...module_utils.node.inspection.files import by_numbers
from .files import fit_name

Label = str | int | None

_NODE_OF_RUNNER = re.compile(rb"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] )?\[NODE-(\d{1,6})\(")
_RANK_OF_NCCL = re.compile(rb" NCCL INFO [^\r\n]{0,200}? rank (\d{1,7}) nranks (\d{1,7}) ")


def _no_label(_line: Line) -> Label:
    return None


@dataclass(frozen=True)
class Nodes:
    """The nodes of a file in rank order, by the label of their lines; none if the file is of one node.

    ``is_shared`` says that several tasks of a node, one for each accelerator, print there.
    """

    by_label: Mapping[Label, str] = field(default_factory=dict)
    label_of: Callable[[Line], Label] = _no_label
    is_shared: bool = False

    @property
    def names(self) -> list[str]:
        """Return the names of the nodes, each once."""
        return list(dict.fromkeys(self.by_label.values()))

    def of(self, line: Line) -> str | None:
        """Return the node of a line, or None if the line has no label of a node."""
        return self.by_label.get(self.label_of(line))


def nodes_of(lines: Callable[[], Iterable[Line]], prefixes: Sequence[Prefix], nodes: int | None, alone: bool) -> Nodes:
    """Return the nodes of a file with these prefixes, whose lines are read only if the prefixes tell nodes.

    ``nodes`` is the planned number of nodes, None if unknown; ``alone`` means that the run has no other file. Tasks are
    on one node if their lines show the same host. If some lines show no host, Slurm's usual order counts: the first
    tasks are on the first node, and as many on every other.
    """
    if _tells("host", prefixes):
        hosts = sorted({host for line in lines() if (host := line.told.host)}, key=by_numbers)
        return Nodes({host: fit_name(host) for host in hosts}, _host_of)
    if _tells("task", prefixes):
        return _by_task(_hosts_of_tasks(lines()), nodes)
    if _tells("rank", prefixes) and alone and nodes != 1:
        return _by_rank(lines(), nodes)
    return Nodes()


def _tells(name: str, prefixes: Sequence[Prefix]) -> bool:
    return any(b"(?P<%b>" % name.encode() in prefix.pattern for prefix in prefixes)


def _host_of(line: Line) -> Label:
    return line.told.host


def _task_of(line: Line) -> Label:
    return line.told.task


def _hosts_of_tasks(lines: Iterable[Line]) -> list[tuple[int, str | None]]:
    hosts: dict[int, str | None] = {}
    for line in lines:
        task = line.told.task
        if task is not None and hosts.setdefault(task, None) is None:
            hosts[task] = line.told.host or host_named_in(line.text)
    return sorted(hosts.items())


def _by_task(tasks: Sequence[tuple[int, str | None]], nodes: int | None) -> Nodes:
    hosts = dict.fromkeys(host for _task, host in tasks)
    if None not in hosts:
        by_host: dict[Label, str] = {task: fit_name(str(host)) for task, host in tasks}
        return Nodes(by_host, _task_of, len(tasks) > len(hosts))
    numbers = [task for task, _host in tasks]
    # Some tasks may have printed nothing.
    each = -(-(numbers[-1] + 1) // nodes) if nodes and len(numbers) > nodes else 1
    if len({task // each for task in numbers}) != nodes:
        each = 1
    return Nodes({task: f"task{task - task % each}" for task in numbers}, _task_of, each > 1)


def _by_rank(lines: Iterable[Line], nodes: int | None) -> Nodes:
    """Return the nodes by the ranks in Primus' prefix; NCCL and Primus' runner say which host has which."""
    ranks: set[int] = set()
    worlds: set[int] = set()
    ranks_of_host: dict[str, int] = {}
    places_of_host: dict[str, int] = {}
    for line in lines:
        if line.told.rank is not None and line.told.world:
            ranks.add(line.told.rank)
            worlds.add(line.told.world)
            continue
        host = host_named_in(line.text)
        rank = _RANK_OF_NCCL.search(line.text) if host else None
        place = _NODE_OF_RUNNER.match(line.text) if host else None
        if host and rank and worlds <= {int(rank[2])}:
            ranks_of_host.setdefault(host, int(rank[1]))
        if host and place:
            places_of_host[host] = int(place[1])
    count = nodes or len({*ranks_of_host, *places_of_host})
    world = max(worlds, default=0)
    if len(worlds) != 1 or count < 2 or world % count:
        return Nodes()
    each = world // count
    places = {host: rank // each for host, rank in ranks_of_host.items()} | places_of_host
    names = {place: fit_name(host) for host, place in places.items()}
    seen = sorted({rank // each for rank in ranks}.union(places.values()))
    by_label: dict[Label, str] = {place: names.get(place, f"node{place}") for place in seen}
    by_label.update((host, by_label[place]) for host, place in places.items())

    def label_of(line: Line) -> Label:
        return host_named_in(line.text) if line.told.rank is None else line.told.rank // each

    return Nodes(by_label, label_of)
