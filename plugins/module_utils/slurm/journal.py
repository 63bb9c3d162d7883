# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of a job: what all of its nodes answered, in one file of the run's folder.

A task prints its answers; srun brings the lines of all tasks to the job's first node over its own connections and
marks each with the task's number, and one process there adds them to the journal. So the controller looks at one file,
however many nodes there are, and no file of the shared file system has two writers, which NFS would not bear. The file
is opened for each addition, as NFS shows to others what was written once it is closed. A line is::

    <task>: <phase> <piece>

A piece is base64. ``^`` before it begins the zlib stream of a phase, which ends where the next one begins; ``.`` after
it ends an answer. Answers to the same question repeat each other, which the stream says once. srun passes a line on as
a whole if it is shorter than 1,024 bytes (MAX_MSG_LEN in src/common/io_hdr.h).
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import time
import typing as t
import zlib

JOURNAL_NAME = "answers.journal"
# The window of a stream, 2 ** 13 bytes, holds the answer before this one; each open stream costs the reader as much.
_WINDOW = -13
_PIECE = 900
_GATHER_SECONDS = 1.0
# What a pipe holds.
_READ_BYTES = 64 << 10
_MOST_BYTES = 64 << 20


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


def gather(source: int, path: str) -> int:
    """Add the lines that come from a file descriptor to the journal, about once a second, until it is closed.

    What cannot be written, on a full disk, is kept for the next time: srun, and so the training, must not wait for us.
    """
    # What a gatherer that was killed left of a line is ended first.
    rest, waiting = b"", b"\n"
    while True:
        part = os.read(source, _READ_BYTES)
        whole, newline, rest = (rest + part).rpartition(b"\n")
        waiting = _not_added(path, waiting + whole + newline)
        if not part:
            return int(bool(waiting))
        # Where there is more to read already, srun must not wait for us.
        if len(part) < _READ_BYTES // 2:
            time.sleep(_GATHER_SECONDS)


def _not_added(path: str, lines: bytes) -> bytes:
    """Add lines to the journal, and return what is left of them, which goes on where they were torn."""
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
        self._path, self._phases = path, phases
        self.offset = 0
        self._streams: dict[tuple[int, str], _Stream] = {}
        self.heard: set[int] = set()

    def more(self) -> t.Iterator[tuple[int, str, dict[str, t.Any]]]:
        """Yield what has been added: the task, the phase and the answer. What is no answer of ours is left out."""
        with contextlib.suppress(OSError), open(self._path, "rb") as journal:
            journal.seek(self.offset)
            for line in journal:
                if not line.endswith(b"\n"):
                    break
                self.offset += len(line)
                label, _colon, value = line.partition(b": ")
                phase, _blank, piece = value.strip().decode("ascii", "replace").partition(" ")
                if not label.strip().isdigit():
                    continue
                task = int(label)
                self.heard.add(task)
                if phase in self._phases:
                    answer = self._streams.setdefault((task, phase), _Stream()).add(piece)
                    if answer is not None:
                        yield task, phase, answer


class _Stream:
    """The answers of a task to one phase."""

    def __init__(self) -> None:
        self._unpacker = zlib.decompressobj(_WINDOW)
        self._text: list[str] = []

    def add(self, piece: str) -> dict[str, t.Any] | None:
        """Return the answer that ends with a piece, if one does."""
        if piece.startswith("^"):
            self._unpacker, self._text = zlib.decompressobj(_WINDOW), []
        self._text.append(piece.strip("^."))
        if not piece.endswith("."):
            return None
        text, self._text = "".join(self._text), []
        try:
            packed = base64.b64decode(text, validate=True)
            answer = json.loads(self._unpacker.decompress(packed, _MOST_BYTES))
        except (binascii.Error, zlib.error, ValueError, RecursionError):
            return None
        return answer if isinstance(answer, dict) else None
