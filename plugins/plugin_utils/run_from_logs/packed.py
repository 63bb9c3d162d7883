# SPDX-License-Identifier: GPL-3.0-or-later
"""Recognizes compressed files, and opens those that Python can read."""

from __future__ import annotations

import bz2
import gzip
import importlib.util
import io
import lzma
import typing as t
import zlib

if t.TYPE_CHECKING:
    from pathlib import Path


class TooLargeError(Exception):
    """A compressed file unpacks to more than any log does."""


# Errors other than OSError while a truncated or damaged file is read.
DAMAGED: tuple[type[Exception], ...] = (EOFError, lzma.LZMAError, zlib.error, TooLargeError)
# Logs usually shrink to a tenth, but logs of a loop that prints the same line to a hundredth.
_MOST_TIMES, _ALWAYS_ALLOWED = 100, 1 << 30
_OPENERS: dict[str, t.Callable[..., t.Any]] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
if importlib.util.find_spec("compression"):  # Python 3.14
    _zstd = importlib.import_module("compression.zstd")
    _OPENERS[".zst"], DAMAGED = _zstd.open, (*DAMAGED, _zstd.ZstdError)

PACKED = (".bz2", ".gz", ".xz", ".zip", ".zst")


def is_packed(file: Path) -> bool:
    """Return whether a file is compressed, according to its name."""
    return file.suffix in PACKED


def can_be_read(file: Path) -> bool:
    """Return whether a file is not compressed, or Python can decompress it."""
    return not is_packed(file) or file.suffix in _OPENERS


def unpacked_name(file: Path) -> str:
    """Return a file's name without the suffix of its compression."""
    return file.stem if is_packed(file) else file.name


def most_unpacked(file: Path) -> int:
    """Return how many bytes a compressed file may unpack to; raises OSError."""
    return max(_ALWAYS_ALLOWED, _MOST_TIMES * file.stat().st_size)


def opened(file: Path) -> io.BufferedReader:
    """Open a file to read its content, decompressed; raises OSError."""
    return t.cast("io.BufferedReader", _OPENERS.get(file.suffix, open)(file, "rb"))
