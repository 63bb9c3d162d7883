# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes one plain log per node of the forms in which logs are kept.

A log may be compressed, rotated into several files, and have a prefix in front of each line; a file may hold the logs
of all nodes, told apart by their prefixes. Such logs are written anew in a scratch folder, so that whoever reads a log
reads a plain file.
"""

from __future__ import annotations

import itertools
import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ...module_utils.logs.clock import seconds_of_rfc3339
from ...module_utils.logs.frameworks.known import GRAMMARS
from ...module_utils.logs.prefixes import Line, Prefix, PrefixReader, host_named_in, prefixes_of
from ...module_utils.logs.reader import read_log
from ...module_utils.node.inspection.files import by_numbers
from ..plan.config.words import counted
from .files import fit_name
from .packed import DAMAGED, is_packed, opened

if t.TYPE_CHECKING:
    from pathlib import Path

    from .files import LoggedRun

_CHUNK_BYTES = 1 << 20
# A log is known by the lines of so many places in it.
_PLACES, _PLACE_BYTES = 8, 64 << 10
# So much of what a label printed is held before it is written.
_HELD_BYTES = 64 << 10
_PROBE_BYTES = 4 << 20

_Label = str | int | None


@dataclass(frozen=True)
class LogFile:
    """A plain log: where it is, and which file of the user it was made of.

    ``began`` and ``ended`` are when its first and last line were printed, in seconds since the epoch, if their prefixes
    say it. ``problem`` says in words what of it could not be read.
    """

    path: Path
    named: Path
    began: float | None = None
    ended: float | None = None
    problem: str | None = None


@dataclass
class PlainLogs:
    """The plain logs of a run: the candidates of each node, the standard errors of each candidate, and notes."""

    nodes: dict[str, list[LogFile]] = field(default_factory=dict)
    errors: dict[Path, list[LogFile]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def files(self) -> list[LogFile]:
        """Return all of them."""
        return [file for files in (*self.nodes.values(), *self.errors.values()) for file in files]


def plain_logs(run: LoggedRun, nodes: int | None, scratch: Path) -> PlainLogs:
    """Return the logs of a run as plain files; those that have to be made are in the folder ``scratch``.

    ``nodes`` is the number of nodes that were to take part, None where it is not known: it tells which tasks of a
    launcher were on one node. A file that cannot be read is an empty log with a ``problem``.
    """
    found = PlainLogs(notes=list(run.notes))
    numbers = itertools.count()

    def split(file: Path, of_output: Mapping[_Label, _Node]) -> _Split:
        folder = scratch / str(next(numbers))
        folder.mkdir()
        try:
            return _split(file, run.parts.get(file, []), nodes, folder, found.notes, of_output)
        except OSError as error:
            problem = f"it cannot be read: {error.strerror or error}"
            (folder / "empty").touch()
            return _Split({"": LogFile(folder / "empty", file, problem=problem)}, {})

    for node, files in run.files.items():
        for file in files:
            outputs = split(file, {})
            for name, log in outputs.logs.items():
                found.nodes.setdefault(name or node, []).append(log)
            first = next(iter(outputs.logs.values()))
            for error in run.errors.get(file, ()):
                for name, log in split(error, outputs.nodes).logs.items():
                    whose = outputs.logs.get(name, first)
                    found.errors.setdefault(whose.path, []).append(log)
    return found


class _Node(t.NamedTuple):
    """A node in a log of several: its name, and whether several tasks of it print there."""

    name: str
    is_shared: bool


class _Split(t.NamedTuple):
    """The plain logs of a file by node, and the node of each label; a log of one node has the name ""."""

    logs: dict[str, LogFile]
    nodes: dict[_Label, _Node]


def _split(
    file: Path,
    older: Sequence[Path],
    nodes: int | None,
    folder: Path,
    notes: list[str],
    of_output: Mapping[_Label, _Node],
) -> _Split:
    """Return the plain logs of a file. The standard error of a job has the nodes that its output has."""
    parts = [*older, file]
    if older and _is_whole(file):
        names = ", ".join(part.name for part in older)
        notes.append(f"{file.name} begins with the first step, so these older files are of another run: {names}.")
        parts = [file]
    prefixes = prefixes_of(list(_some_lines(parts)))
    if not prefixes and len(parts) == 1 and not is_packed(file):
        return _Split({"": LogFile(file, file)}, {})
    by_label = _nodes_of(parts, prefixes, nodes)
    if not by_label.keys() - of_output.keys():
        by_label = dict(of_output)
    writer = _Writer(folder, prefixes, by_label)
    writer.write(parts)
    if len(writer.names) > 1 and not of_output:
        what = " and ".join(dict.fromkeys(prefix.name for prefix in prefixes))
        notes.append(f"{file.name} holds the logs of {counted(len(writer.names), 'node')}, told apart by {what}.")
    return _Split(writer.logs(file), by_label)


def _is_whole(file: Path) -> bool:
    """Tell whether a log has the first step of a training, so that nothing came before it."""
    if is_packed(file):
        return False
    for grammar_name, grammar in GRAMMARS.items():
        news = read_log(str(file), grammar_name, final=True, max_bytes=_PROBE_BYTES, failures="none")
        first = next(iter(news["rows"]), None)
        if first:
            return first["step"] == grammar.first_step
    return False


def _chunks(parts: Iterable[Path]) -> Iterator[bytes]:
    for part in parts:
        with opened(part) as stream:
            # Of a file that is cut off, read() returns nothing.
            while chunk := stream.read1(_CHUNK_BYTES):
                yield chunk


def _some_lines(parts: Sequence[Path]) -> Iterator[bytes]:
    """Yield whole lines of a log: of its begin, and of places all over it where that can be read out of order."""
    for part in parts:
        with suppress(*DAMAGED), opened(part) as stream:
            size = 0 if is_packed(part) else part.stat().st_size
            step = max(_PLACE_BYTES, size // _PLACES)
            for place in range(0, max(size, 1), step):
                stream.seek(place)
                whole = stream.read(_PLACE_BYTES).split(b"\n")
                yield from whole[place > 0 : -1 if len(whole) > 1 else None]


class _Labels(t.NamedTuple):
    """Which labels a log has, and the host that the lines of each name."""

    found: dict[_Label, str | None]
    by_host: bool


def _label_of(line: Line, by_host: bool) -> _Label:
    return line.told.host if by_host else line.told.task


def _lines(parts: Sequence[Path], prefixes: Sequence[Prefix]) -> Iterator[Line]:
    reader = PrefixReader(prefixes)
    for chunk in _chunks(parts):
        yield from reader.read(chunk)
    yield from reader.read(b"", final=True)


def _labels(parts: Sequence[Path], prefixes: Sequence[Prefix]) -> _Labels:
    by_host = any(b"(?P<host>" in prefix.pattern for prefix in prefixes)
    hosts: dict[_Label, str | None] = {}
    if by_host or any(b"(?P<task>" in prefix.pattern for prefix in prefixes):
        with suppress(*DAMAGED):
            for line in _lines(parts, prefixes):
                label = _label_of(line, by_host)
                if label is not None and hosts.setdefault(label, None) is None:
                    hosts[label] = line.told.host or host_named_in(line.text)
    return _Labels(hosts, by_host)


def _nodes_of(parts: Sequence[Path], prefixes: Sequence[Prefix], nodes: int | None) -> dict[_Label, _Node]:
    """Return the node of each label, in rank order.

    Tasks are on one node if their lines name the same host. Where not all of them name one, Slurm's usual order is
    taken: the first node has the first tasks, as many as every other.
    """
    labels = _labels(parts, prefixes)
    if labels.by_host:
        names = sorted(map(str, labels.found), key=by_numbers)
        return {name: _Node(fit_name(name), is_shared=False) for name in names}
    tasks = sorted(t.cast("Mapping[int, str | None]", labels.found).items())
    hosts = dict.fromkeys(host for _task, host in tasks)
    if tasks and None not in hosts:
        return {task: _Node(fit_name(str(host)), len(tasks) > len(hosts)) for task, host in tasks}
    each = len(tasks) // nodes if nodes and len(tasks) % nodes == 0 else 1
    return {task: _Node(f"task{tasks[place - place % each][0]}", each > 1) for place, (task, _host) in enumerate(tasks)}


class _Writer:
    """Writes the lines of a log into one plain log per node."""

    def __init__(self, folder: Path, prefixes: Sequence[Prefix], nodes: Mapping[_Label, _Node]) -> None:
        """Write below the folder."""
        self._folder, self._prefixes, self._nodes = folder, prefixes, nodes
        self.names = list(dict.fromkeys(node.name for node in nodes.values())) or [""]
        self._places = {name: place for place, name in enumerate(self.names)}
        self._held: dict[str, list[bytes]] = {name: [] for name in self.names}
        self._sizes = dict.fromkeys(self.names, 0)
        self._times: dict[str, list[bytes]] = {name: [] for name in self.names}
        self._problem: str | None = None

    def write(self, parts: Sequence[Path]) -> None:
        """Write all that can be read; lines without a label are of the job, and stand in the log of its first node."""
        by_host = any(isinstance(label, str) for label in self._nodes)
        local = _several_local_ranks(parts, self._prefixes)
        try:
            for told, text in _lines(parts, self._prefixes):
                label = told.host if by_host else told.task
                node = self._nodes.get(label)
                name = node.name if node else self.names[0]
                # Tracebacks of several ranks stay apart by what stands in front of their lines.
                rank = b""
                if node and node.is_shared and told.task is not None:
                    rank = b"[rank%d]: " % told.task
                elif local and told.local_rank is not None:
                    rank = b"[local rank %d]: " % told.local_rank
                if told.time:
                    self._times[name][1:] = [told.time]
                self._hold(name, rank + text)
        except DAMAGED as error:
            self._problem = f"it is damaged or cut off: {error}"
        except OSError as error:
            self._problem = f"it cannot be read to its end: {error.strerror or error}"
        for name in self.names:
            self._flush(name)

    def _hold(self, name: str, text: bytes) -> None:
        self._held[name].append(text)
        self._sizes[name] += len(text)
        if self._sizes[name] > _HELD_BYTES:
            self._flush(name)

    def _flush(self, name: str) -> None:
        with open(self._path(name), "ab") as stream:
            stream.writelines(self._held[name])
        self._held[name], self._sizes[name] = [], 0

    def _path(self, name: str) -> Path:
        return self._folder / str(self._places[name])

    def logs(self, named: Path) -> dict[str, LogFile]:
        """Return the logs by node; a log of one node that a file has is of the node that the file names."""
        logs = {}
        for name in self.names:
            times = [_seconds(time) for time in self._times[name]]
            began, ended = (times[0], times[-1]) if times else (None, None)
            logs[name] = LogFile(self._path(name), named, began, ended, self._problem)
        return logs if len(logs) > 1 else {"": next(iter(logs.values()))}


def _several_local_ranks(parts: Sequence[Path], prefixes: Sequence[Prefix]) -> bool:
    if not any(b"(?P<local_rank>" in prefix.pattern for prefix in prefixes):
        return False
    with suppress(*DAMAGED, OSError):
        reader = PrefixReader(prefixes)
        some = reader.read(b"\n".join(_some_lines(parts)), final=True)
        return len({line.told.local_rank for line in some} - {None}) > 1
    return False


def _seconds(stamp: bytes) -> float | None:
    try:
        return seconds_of_rfc3339(stamp)
    except ValueError:
        return None
