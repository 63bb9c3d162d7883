# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns logs of any form into one plain log per node.

A log may be compressed, rotated into several files, and have a prefix on each line; a file may contain all nodes' logs,
with a prefix for each node. Such logs are copied to a scratch folder as plain files, so readers of logs need to know
only plain files.
"""

from __future__ import annotations

import itertools
import sys
import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ...module_utils.logs.clock import seconds_of_rfc3339
from ...module_utils.logs.grammars.known import GRAMMARS
from ...module_utils.logs.prefixes import Line, Prefix, PrefixReader, prefixes_of
from ...module_utils.logs.reader import read_log
from ..text.words import counted
from .labels import Nodes, nodes_of
from .packed import DAMAGED, TooLargeError, is_packed, most_unpacked, opened

if t.TYPE_CHECKING:
    from pathlib import Path

    from ...module_utils.logs.starts import Start
    from .files import LoggedRun

_CHUNK_BYTES = 1 << 20
# Lines are read at this many places of a log to recognize its form.
_PLACES, _PLACE_BYTES = 8, 64 << 10
# Up to this many bytes of each label are buffered before they are written.
_HELD_BYTES = 64 << 10
_SEVERAL = 2


@dataclass(frozen=True)
class LogFile:
    """A plain log: its path, and the user's file that it was made from.

    ``began`` is when its first line was printed, in seconds since the epoch, if its prefix says so. ``problem`` is
    a sentence about the part that could not be read.
    """

    path: Path
    named: Path
    began: float | None = None
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
    """Return a run's logs as plain files; converted logs are in the folder ``scratch``.

    ``nodes`` is the number of nodes that were to take part, None if it is not known: it shows which tasks of a
    launcher were on one node. A file that cannot be read is an empty log with a ``problem``.
    """
    found = PlainLogs(notes=list(run.notes))
    numbers = itertools.count()

    alone = len(run.files) == 1

    def split(file: Path, of_output: Nodes | None = None) -> _Split:
        folder = scratch / str(next(numbers))
        folder.mkdir()
        try:
            return _split(file, run.parts.get(file, []), nodes, folder, found.notes, of_output, alone)
        except OSError as error:
            problem = f"it cannot be read: {error.strerror or error}"
            (folder / "empty").touch()
            return _Split({"": LogFile(folder / "empty", file, problem=problem)}, Nodes())

    for node, files in run.files.items():
        for file in files:
            outputs = split(file)
            for name, log in outputs.logs.items():
                found.nodes.setdefault(name or node, []).append(log)
            first = next(iter(outputs.logs.values()))
            for error in run.errors.get(file, ()):
                for name, log in split(error, outputs.nodes).logs.items():
                    whose = outputs.logs.get(name, first)
                    found.errors.setdefault(whose.path, []).append(log)
    return found


class _Split(t.NamedTuple):
    """The plain logs of a file by node, and its nodes; a log of one node has the name ""."""

    logs: dict[str, LogFile]
    nodes: Nodes


def _split(
    file: Path,
    older: Sequence[Path],
    nodes: int | None,
    folder: Path,
    notes: list[str],
    of_output: Nodes | None,
    alone: bool,
) -> _Split:
    """Return the plain logs of a file. The standard error of a job has the nodes that its output has."""
    parts = _of_one_run([*older, file], folder) if older else [file]
    aside = [part.name for part in older if part not in parts]
    if aside:
        notes.append(f"The training in {file.name} started over, so older files are not read: {', '.join(aside)}.")
    prefixes = prefixes_of(list(_some_lines(parts)))
    found = nodes_of(lambda: _whole_lines(parts, prefixes), prefixes, nodes, alone)
    if of_output and not found.by_label.keys() - of_output.by_label.keys():
        found = of_output
    is_plain = all(prefix.kept for prefix in prefixes) and len(parts) == 1 and not is_packed(file)
    if is_plain and len(found.names) < _SEVERAL:
        return _Split({"": LogFile(file, file)}, found)
    writer = _Writer(folder, prefixes, found)
    writer.write(parts)
    if len(found.names) >= _SEVERAL and not of_output:
        what = " and ".join(dict.fromkeys(prefix.name for prefix in prefixes))
        notes.append(f"{file.name} contains logs of {counted(len(found.names), 'node')}, split by {what}.")
    return _Split(writer.logs(file), found)


class _Reach(t.NamedTuple):
    """The first and the last step of a part of a log, None without steps, and which processes began there."""

    first: int | None
    last: int | None
    starts: Mapping[str, Start]


def _of_one_run(parts: Sequence[Path], folder: Path) -> list[Path]:
    """Return the latest parts of a rotated log that belong to one training, the oldest first.

    Scripts also use such names for the previous run's log.
    """
    plain = [_unpacked(part, folder / f"part{place}") for place, part in enumerate(parts)]
    for name, grammar in GRAMMARS.items():
        reached = [_reach(part, name) for part in plain]
        if any(reach.first is not None or reach.starts for reach in reached):
            kept = len(parts) - 1
            while kept and not _begins_anew(reached[kept - 1], reached[kept:], grammar.first_step):
                kept -= 1
            return list(parts[kept:])
    return list(parts)


def _begins_anew(older: _Reach, newer: Sequence[_Reach], first_step: int) -> bool:
    first = next((reach.first for reach in newer if reach.first is not None), None)
    if first is None or older.last is None:
        return any(
            _is_another(older.starts.get(what), start) for reach in newer for what, start in reach.starts.items()
        )
    return first == first_step and older.last >= first


def _is_another(older: Start | None, newer: Start) -> bool:
    """Return whether a start is a new process, and not another communicator of the same process."""
    if older is None:
        return False
    process = older["last"].partition(" ")[0]
    return not process or process != newer["last"].partition(" ")[0]


def _reach(part: Path, framework: str) -> _Reach:
    news = read_log(str(part), framework, final=True, failures="none")
    first = next((row["step"] for row in news["rows"]), None)
    return _Reach(first, news["cursor"]["step"], news["cursor"]["starts"])


def _unpacked(part: Path, to: Path) -> Path:
    if not is_packed(part):
        return part
    with open(to, "wb") as stream, suppress(*DAMAGED):
        stream.writelines(_chunks([part]))
    return to


def _whole_lines(parts: Sequence[Path], prefixes: Sequence[Prefix]) -> Iterator[Line]:
    """Yield the lines of a log as far as they can be read."""
    with suppress(*DAMAGED):
        yield from _lines(parts, prefixes)


def _chunks(parts: Iterable[Path]) -> Iterator[bytes]:
    for part in parts:
        left = most_unpacked(part) if is_packed(part) else sys.maxsize
        with opened(part) as stream:
            # read() returns nothing at the end of a truncated file.
            while chunk := stream.read1(_CHUNK_BYTES):
                left -= len(chunk)
                if left < 0:
                    raise TooLargeError
                yield chunk


def _some_lines(parts: Sequence[Path]) -> Iterator[bytes]:
    """Yield the beginnings of lines at the start of a log, and throughout the log if it can be read out of order."""
    for part in parts:
        with suppress(*DAMAGED), opened(part) as stream:
            size = 0 if is_packed(part) else part.stat().st_size
            step = max(_PLACE_BYTES, size // _PLACES)
            for place in range(0, max(size, 1), step):
                stream.seek(place)
                yield from stream.read(_PLACE_BYTES).split(b"\n")[place > 0 :]


def _lines(parts: Sequence[Path], prefixes: Sequence[Prefix]) -> Iterator[Line]:
    reader = PrefixReader(prefixes)
    for chunk in _chunks(parts):
        yield from reader.read(chunk)
    yield from reader.read(b"", final=True)


class _Writer:
    """Writes the lines of a log into one plain log per node."""

    def __init__(self, folder: Path, prefixes: Sequence[Prefix], nodes: Nodes) -> None:
        """Write below the folder."""
        self._folder, self._prefixes, self._nodes = folder, prefixes, nodes
        self._names = nodes.names or [""]
        self._places = {name: place for place, name in enumerate(self._names)}
        self._held: dict[str, list[bytes]] = {name: [] for name in self._names}
        self._sizes = dict.fromkeys(self._names, 0)
        self._began: dict[str, bytes] = {}
        self._problem: str | None = None

    def write(self, parts: Sequence[Path]) -> None:
        """Write all readable lines; lines without a label belong to the job, and go to its first node's log."""
        local = _several_local_ranks(parts, self._prefixes)
        try:
            for line in _lines(parts, self._prefixes):
                told, node = line.told, self._nodes.of(line)
                name = self._names[0] if node is None else node
                # The prefixes of their lines keep the tracebacks of several ranks apart.
                rank = b""
                if self._nodes.is_shared and node is not None and told.task is not None:
                    rank = b"[rank%d]: " % told.task
                elif local and told.local_rank is not None:
                    rank = b"[local rank %d]: " % told.local_rank
                if told.time:
                    self._began.setdefault(name, told.time)
                self._hold(name, rank + line.text)
        except TooLargeError:
            most = " or ".join(f"{most_unpacked(part):,} bytes ({part.name})" for part in parts if is_packed(part))
            self._problem = f"it unpacks to more than a log has: {most}"
        except DAMAGED as error:
            self._problem = f"it is damaged or cut off: {error}"
        except OSError as error:
            self._problem = f"it cannot be read to its end: {error.strerror or error}"
        for name in self._names:
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
        logs = {
            name: LogFile(self._path(name), named, _seconds(self._began.get(name)), self._problem)
            for name in self._names
        }
        return logs if len(logs) > 1 else {"": next(iter(logs.values()))}


def _several_local_ranks(parts: Sequence[Path], prefixes: Sequence[Prefix]) -> bool:
    if not any(b"(?P<local_rank>" in prefix.pattern for prefix in prefixes):
        return False
    with suppress(*DAMAGED, OSError):
        reader = PrefixReader(prefixes)
        some = reader.read(b"\n".join(_some_lines(parts)), final=True)
        return len({line.told.local_rank for line in some} - {None}) > 1
    return False


def _seconds(stamp: bytes | None) -> float | None:
    try:
        return None if stamp is None else seconds_of_rfc3339(stamp)
    except ValueError:
        return None
