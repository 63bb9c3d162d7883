# SPDX-License-Identifier: GPL-3.0-or-later
"""The compiled program of a node, kept on the machine: to compile it takes more time than any phase of a run.

Only this user can write to its folder, so its content can be trusted.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import typing as t

from .files import write_bytes
from .own_folders import UntrustedError, private_folder

_PREFIX = "program-"
# No launch loads them, so they stay text, which is compiled where a phase loads it: a quarter of the time to compile.
_NOT_OF_A_LAUNCH = (
    *("node.contracts", "node.hang", "node.machine_facts", "node.nccl_ras", "node.phases.probe", "node.phases.tools"),
    *("node.probes.", "logs.prefixes", "logs.results"),
    *("node.phases.inspect", "node.phases.shared_file"),
    *(
        f"node.inspection.{name}"
        for name in ("adapter_tools", "clock", "elf", "engines", "facts", "limits", "providers", "settings")
    ),
)


def compiled(
    texts: t.Mapping[str, str], digest: str, python: bytes, keep: bool
) -> tuple[bytes, t.Mapping[str, str | bytes]]:
    """Return the program, and its modules by name: the marshalled code of those that a launch loads, others as text.

    It begins with the line ``python``, the version of the compiling Python. ``digest`` identifies the ``texts``.
    Only the last program is kept. Without ``keep`` nothing is written, and a program that is not there is empty: its
    modules are the ``texts``, each compiled where it is loaded.
    """
    path = _path(digest, keep)
    found = _read(path, python) if path else None
    if found:
        return found
    if not keep:
        return b"", texts
    later = tuple(f"{__package__.rpartition('.')[0]}.{name}" for name in _NOT_OF_A_LAUNCH)
    # Without docstrings.
    code: dict[str, str | bytes] = {
        name: text
        if name.startswith(later)
        else marshal.dumps(compile(text, f"<{name}>", "exec", dont_inherit=True, optimize=2))
        for name, text in texts.items()
    }
    program = python + marshal.dumps(code)
    if path:
        with contextlib.suppress(OSError):
            _keep_only(path, program)
    return program, code


def _path(digest: str, make: bool) -> str | None:
    with contextlib.suppress(OSError, UntrustedError):
        folder = private_folder(make)
        return os.path.join(folder, _PREFIX + digest) if folder else None
    return None


def _read(path: str, python: bytes) -> tuple[bytes, dict[str, str | bytes]] | None:
    """Return the program in a file and its code, or None if it is missing, torn, or another Python's."""
    with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
        with open(path, "rb") as stream:
            content = stream.read()
        code = marshal.loads(content[len(python) :]) if content.startswith(python) else None
        if code:
            return content, code
    return None


def _keep_only(path: str, content: bytes) -> None:
    folder = os.path.dirname(path)
    for name in os.listdir(folder):
        if name.startswith(_PREFIX):
            os.unlink(os.path.join(folder, name))
    write_bytes(path, content, 0o600)
