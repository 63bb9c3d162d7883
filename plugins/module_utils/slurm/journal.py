# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of a job: the answers of all its nodes, in one file of the run's folder.

A task prints its answers; srun brings the lines of all tasks to the job's first node over its own connections and marks
each with the task's number, and one process there adds them to the journal. So the controller looks at one file,
however many nodes there are, and no file of the shared file system has two writers, which NFS would not bear. The file
is opened for each addition, because NFS shows written data to others once the file is closed. A line is::

    <task>: <phase> <piece>

A piece is base64. ``^`` before it begins the zlib stream of a phase, which ends where the next one begins; ``.`` after
it ends an answer. Answers to the same question repeat each other, and the stream stores the repeats once. srun passes a
line on as a whole if it is shorter than 1,024 bytes (MAX_MSG_LEN in src/common/io_hdr.h).

A node may print whatever it wants, so only possible answers get into the journal, and only so much of each task. If
tasks do not share the run's folder, two more kinds of lines replace its files: ``failed``, and ``log`` with parts of a
log that is too large for an answer.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import re
import sys
import time
import typing as t
import zlib
from collections import defaultdict

JOURNAL_NAME = "answers.journal"
# The window of a stream, 2 ** 13 bytes, contains the answer before this one; each open stream costs the reader as much.
_WINDOW = -13
_PIECE = 900
_GATHER_SECONDS = 1.0
# The size of a pipe's buffer.
_READ_BYTES = 64 << 10
_MOST_BYTES = 64 << 20
# More than a node of ours ever sends, in an answer and in a phase.
_MOST_OF_ANSWER, _MOST_OF_TASK, _MOST_VALUES = 16 << 20, 256 << 20, 4_000_000
_MOST_OF_ERRORS = 1 << 20
_MOST_OF_LINE = 64 << 10
_MOST_OFFSET = 1 << 40

FAILED, LOG = "failed", "log"
_HAS_FAILED = FAILED.encode() + b"\n"
_ANSWER = re.compile(rb"[a-z]+ (?:\^?[A-Za-z0-9+/=]+\.?|\.)\n")


class Teller:
    """Writes the answers of a task to a stream that srun reads."""

    def __init__(self, stream: t.BinaryIO) -> None:
        """Begin with no phase."""
        self._stream, self._phase = stream, ""

    def tell(self, phase: str, answer: t.Mapping[str, t.Any]) -> None:
        """Write an answer, in as many lines as it takes."""
        begins = phase != self._phase
        if begins:
            self._phase, self._packer = phase, zlib.compressobj(9, zlib.DEFLATED, _WINDOW)
        packed = self._packer.compress(json.dumps(answer).encode()) + self._packer.flush(zlib.Z_SYNC_FLUSH)
        text = base64.b64encode(packed).decode("ascii")
        text = f"{'^' if begins else ''}{text}."
        for start in range(0, len(text), _PIECE):
            self._stream.write(f"{phase} {text[start : start + _PIECE]}\n".encode("ascii"))
        self._stream.flush()

    def say(self, word: str) -> None:
        """Write a line that is not an answer."""
        self._stream.write(f"{word}\n".encode("ascii"))
        self._stream.flush()


class Sieve:
    """Lets the answers of tasks through; ``failed`` is called for each failed one, ``log`` with the parts of logs."""

    def __init__(self, failed: t.Callable[[int], None], log: t.Callable[[int, int, bytes], None]) -> None:
        """Begin with nothing."""
        self._failed, self._log = failed, log
        self._have_failed: t.Set[int] = set()
        self._logs: t.Dict[int, _Stream] = {}
        self._said: t.Dict[t.Tuple[int, str], int] = defaultdict(int)

    def __call__(self, lines: bytes) -> bytes:
        """Return the whole lines that belong in the journal."""
        return b"".join(line for line in lines.splitlines(keepends=True) if self._belongs(line))

    def _belongs(self, line: bytes) -> bool:
        label, _colon, said = line.partition(b": ")
        if not label.strip().isdigit():
            return False
        task = int(label)
        if said == _HAS_FAILED and task not in self._have_failed:
            self._have_failed.add(task)
            self._failed(task)
        if not _ANSWER.fullmatch(said):
            return False
        phase, _blank, piece = said.decode("ascii").strip().partition(" ")
        if phase == LOG:
            self._take_log(task, self._logs.setdefault(task, _Stream()).add(piece) or {})
        return phase != LOG and self._has_room(task, "", len(line))

    def _take_log(self, task: int, part: t.Dict[str, t.Any]) -> None:
        offset, data = part.get("offset"), part.get("data")
        if not isinstance(offset, int) or not isinstance(data, str):
            return
        if 0 <= offset <= _MOST_OFFSET and self._has_room(task, LOG, len(data)):
            self._log(task, offset, data.encode("latin-1", "replace"))

    def _has_room(self, task: int, what: str, size: int) -> bool:
        self._said[task, what] += size
        return self._said[task, what] <= _MOST_OF_TASK


def within_bounds(lines: t.Iterable[bytes]) -> t.Iterator[bytes]:
    """Yield the error output of tasks, only so much of each; srun's own lines have no label."""
    printed: t.Dict[bytes, int] = defaultdict(int)
    for line in lines:
        label, _colon, _said = line.partition(b":")
        label = label.strip()
        if not label.isdigit() or printed[label] <= _MOST_OF_ERRORS:
            yield line
        if label.isdigit():
            printed[label] += len(line)


def keep_errors() -> int:
    """Pass on the part of the standard input that is within bounds to the standard output."""
    lines = iter(lambda: sys.stdin.buffer.readline(_MOST_OF_LINE), b"")
    for line in within_bounds(lines):
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    return 0


def gather(source: int, path: str, sieve: t.Callable[[bytes], bytes]) -> int:
    """Add the lines that come from a file descriptor to the journal, about once a second, until it is closed.

    Data that cannot be written, on a full disk, is kept for the next time: srun, and so the training, must not wait for
    us.
    """
    # First end the partial line of a killed gatherer.
    rest, waiting = b"", b"\n"
    while True:
        part = os.read(source, _READ_BYTES)
        whole, newline, rest = (rest + part).rpartition(b"\n")
        rest = rest[:_MOST_OF_LINE]
        waiting = _not_added(path, waiting + sieve(whole + newline))
        if not part:
            return int(bool(waiting))
        # If there is more to read already, srun must not wait for us.
        if len(part) < _READ_BYTES // 2:
            time.sleep(_GATHER_SECONDS)


def _not_added(path: str, lines: bytes) -> bytes:
    """Add lines to the journal, and return the rest of them, which continues where they were torn."""
    if not lines:
        return lines
    with contextlib.suppress(OSError):
        journal = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            while lines:
                lines = lines[os.write(journal, lines) :]
        finally:
            os.close(journal)
    return lines


class Answers:
    """The answers of some phases in a journal, read from its first line on, as far as it is there."""

    def __init__(self, path: str, phases: t.Container[str]) -> None:
        """Read nothing yet."""
        self._path = path
        self.offset = 0
        self._lines = Lines(phases)
        self.heard = self._lines.heard

    def more(self) -> t.Iterator[tuple[int, str, dict[str, t.Any]]]:
        """Yield the additions: the task, the phase and the answer. Anything but an answer of ours is left out."""
        with contextlib.suppress(OSError), open(self._path, "rb") as journal:
            journal.seek(self.offset)
            for line in journal:
                if not line.endswith(b"\n"):
                    break
                self.offset += len(line)
                found = self._lines.add(line)
                if found:
                    yield found


class Lines:
    """The answers of some phases in the lines that srun passes on; ``heard`` are the tasks that sent anything."""

    def __init__(self, phases: t.Container[str]) -> None:
        """Begin with no line."""
        self._phases = phases
        self._streams: dict[tuple[int, str], _Stream] = {}
        self.heard: set[int] = set()

    def add(self, line: bytes) -> tuple[int, str, dict[str, t.Any]] | None:
        """Return the task, the phase and the answer that ends with a line, if one of ours does."""
        label, _colon, value = line.partition(b": ")
        phase, _blank, piece = value.strip().decode("ascii", "replace").partition(" ")
        if not label.strip().isdigit():
            return None
        task = int(label)
        self.heard.add(task)
        answer = self._streams.setdefault((task, phase), _Stream()).add(piece) if phase in self._phases else None
        return None if answer is None else (task, phase, answer)


class _Stream:
    """The answers of a task to one phase."""

    def __init__(self) -> None:
        self._unpacker = zlib.decompressobj(_WINDOW)
        self._text: list[str] = []
        self._length = 0

    def add(self, piece: str) -> dict[str, t.Any] | None:
        """Return the answer that ends with a piece, if one does."""
        if piece.startswith("^"):
            self._unpacker, self._text, self._length = zlib.decompressobj(_WINDOW), [], 0
        self._length += len(piece)
        if self._length > _MOST_OF_ANSWER:
            self._text = []
            return None
        self._text.append(piece.strip("^."))
        if not piece.endswith("."):
            return None
        text, self._text, self._length = "".join(self._text), [], 0
        try:
            packed = base64.b64decode(text, validate=True)
            said = self._unpacker.decompress(packed, _MOST_BYTES)
            answer = json.loads(said) if sum(map(said.count, (b"[", b"{", b","))) <= _MOST_VALUES else None
        except (binascii.Error, zlib.error, ValueError, RecursionError):
            return None
        return answer if isinstance(answer, dict) else None
