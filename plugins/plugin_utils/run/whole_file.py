# SPDX-License-Identifier: GPL-3.0-or-later
"""Writing files that are either complete or absent, and one error for everything a disk may refuse."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import time
import typing as t
from collections.abc import Iterator
from pathlib import Path

_ALONE_SECONDS = 2.0
_ALONE_POLL_SECONDS = 0.002
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class NotWrittenError(OSError):
    """A file of a run that cannot be written; ``filename`` and ``strerror`` say which, and why."""

    @property
    def needs_room(self) -> bool:
        """Return whether it needs more space; otherwise it needs permission to write there."""
        return self.errno in _NO_ROOM


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise `NotWrittenError` in place of any error of writing a file, except that it exists."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        raise NotWrittenError(error.errno, error.strerror or str(error), str(path)) from error


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Lock a folder against others who lock it too, if its file system has locks for folders.

    One who was suspended while alone there is not waited for.
    """
    handle = os.open(folder, os.O_RDONLY)
    deadline = time.monotonic() + _ALONE_SECONDS
    try:
        while time.monotonic() < deadline:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_ALONE_POLL_SECONDS)
            except OSError:
                break
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def _draft_of(path: Path) -> Iterator[Path]:
    """Give a draft of a file, under a unique name; remove it afterwards if it still exists.

    Several processes, one following a run and one stopping it, may write the same file at the same time.
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    try:
        yield draft
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a draft to write, which takes the place of the file once it is whole; one that fails is removed."""
    with writing(path), _draft_of(path) as draft:
        yield draft
        os.replace(draft, path)


def write_new(path: Path, text: str) -> None:
    """Write a file; FileExistsError if there is one already, which is then complete."""
    with writing(path), _draft_of(path) as draft:
        draft.write_text(text, encoding="utf-8")
        try:
            os.link(draft, path)
        except OSError:
            # Some file systems have no links; there, the file is complete only after a moment.
            with open(path, "x", encoding="utf-8") as stream:
                stream.write(text)


def write_whole(path: Path, text: str, **how: t.Any) -> None:
    """Replace the content of a file with a text; ``how`` is as for `Path.write_text`.

    File names need not be UTF-8; a question mark replaces every character that is not.
    """
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8", errors="replace", **how)
