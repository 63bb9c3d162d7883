# SPDX-License-Identifier: GPL-3.0-or-later
"""Files in folders of our own, written so that a reader never sees half of one. No link is followed."""

from __future__ import annotations

import errno
import json
import os
import stat
import typing as t


def write_text(path: str, text: str, mode: int) -> bool:
    """Write a file in one step, and return whether it was different before."""
    if read_text(path) == text:
        return False
    write_bytes(path, text.encode("utf-8"), mode)
    return True


def write_bytes(path: str, content: bytes, mode: int) -> None:
    """Write a file in one step. An OSError gives the file, even if the disk is full."""
    draft = os.path.join(os.path.dirname(path), f".trainops-{os.urandom(8).hex()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                os.fchmod(descriptor, mode)
                stream.write(content)
            os.replace(draft, path)
        except BaseException:
            os.unlink(draft)
            raise
    except OSError as error:
        error.filename = path
        raise


def read_text(path: str) -> str | None:
    """Return the content of a file, or None if there is no such file; ValueError if it is not a regular one."""
    try:
        # A pipe would block the process that opens it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise ValueError(f"{path} is not a regular file") from error
    with os.fdopen(descriptor, encoding="utf-8") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError(f"{path} is not a regular file")
        return stream.read()


def read_json(path: str) -> dict[str, t.Any] | None:
    """Return the JSON object in a file, or None if there is no such file; ValueError if the content is not one."""
    text = read_text(path)
    if text is None:
        return None
    try:
        return t.cast("dict[str, t.Any]", json.loads(text))
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON: {error}") from error


def write_json(path: str, value: t.Mapping[str, object], mode: int = 0o640) -> None:
    """Write a JSON object in one step."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True) + "\n", mode)
