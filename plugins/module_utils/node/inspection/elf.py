# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts that a shared library has about itself, read from its ELF dynamic section without any tool.

Format: System V ABI, chapter 5 (tables of program headers and dynamic entries), and elf(5).
"""

from __future__ import annotations

import re
import struct
import typing as t
from collections.abc import Iterator

_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_STRTAB, _DT_STRSZ, _DT_SONAME = 5, 10, 14

# rdma-core versions the interface between libibverbs and its providers with this symbol; the number is the one in
# libbnxt_re-rdmav34.so.
_RDMA_ABI = re.compile(rb"IBVERBS_PRIVATE_([0-9]+)")


class NotElfError(ValueError):
    """A file is not a shared library of this kind of machine."""


def shared_library(path: str) -> dict[str, t.Any]:
    """Return ``soname`` and ``rdma_abi`` (None if it has none), or a ``problem``, of the library at a path."""
    try:
        with open(path, "rb") as stream:
            strings, soname = _dynamic_strings(stream.read())
    except (OSError, NotElfError, struct.error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return {"soname": None, "rdma_abi": None, "problem": f"it cannot be read as a shared library: {reason}"}
    abi = _RDMA_ABI.search(strings)
    return {"soname": soname, "rdma_abi": int(abi.group(1)) if abi else None}


def _dynamic_strings(data: bytes) -> tuple[bytes, str | None]:
    """Return the string table of the dynamic section, and the SONAME."""
    if data[:4] != b"\x7fELF" or len(data) < 64:
        raise NotElfError("it is not an ELF file")
    if data[4] != 2:
        raise NotElfError("it is not for a 64-bit machine")
    order = "<" if data[5] == 1 else ">"
    headers = list(_program_headers(data, order))
    entries: dict[int, int] = {}
    for kind, offset, _address, size in headers:
        if kind == _PT_DYNAMIC:
            entries = dict(struct.iter_unpack(f"{order}qQ", data[offset : offset + size - size % 16]))
    if _DT_STRTAB not in entries:
        raise NotElfError("it has no dynamic section")
    start = _file_offset(headers, entries[_DT_STRTAB])
    strings = data[start : start + entries.get(_DT_STRSZ, 0)]
    if _DT_SONAME not in entries:
        return strings, None
    name = strings[entries[_DT_SONAME] :].partition(b"\0")[0]
    return strings, name.decode("utf-8", "replace")


def _program_headers(data: bytes, order: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield kind, offset in the file, virtual address and size in the file of each segment."""
    (table,) = struct.unpack_from(f"{order}Q", data, 32)
    size, count = struct.unpack_from(f"{order}HH", data, 54)
    for number in range(count):
        kind, _flags, offset, address, _physical, length = struct.unpack_from(
            f"{order}IIQQQQ", data, table + number * size
        )
        yield kind, offset, address, length


def _file_offset(headers: list[tuple[int, int, int, int]], address: int) -> int:
    for kind, offset, start, size in headers:
        if kind == _PT_LOAD and start <= address < start + size:
            return offset + address - start
    raise NotElfError("its dynamic section points outside the file")
