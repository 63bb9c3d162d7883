# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets of a run on a node: files of mode 0600 in memory (/dev/shm), there from stage to the end of the training.

A node's plan lists them: ``name``, ``source`` (the user's file) and ``target`` (the file that the training reads). The
value comes from the user of the run, else from the source on this node, else from the source on the controller; the
first and the last come along with the request. Each target lies in a folder of its own, which only this user can enter.
"""

from __future__ import annotations

import contextlib
import os
import typing as t

from .files import write_bytes
from .own_folders import UntrustedError, check_own
from .processes import begin

if t.TYPE_CHECKING:
    from .contracts import Node

# Waits in the folder for the end of process $0, which stays a zombie if the node is a container whose first process
# waits for nobody. By then the folder's name $1 may belong to another one, still empty.
_REMOVED_AFTER = (
    'while { read -r stat <"/proc/$0/stat"; } 2>/dev/null; do case ${stat##*) } in [ZX]*) break; esac; sleep 1; done; '
    'rm -f -- *; [ "$1" -ef . ] && rmdir -- "$1"'
)


def place(node: Node, given: dict[str, str], sent: dict[str, str]) -> list[str]:
    """Put the secrets of a node in place, and return a warning for each that is nowhere to be had.

    ``given`` go before the files of this node, ``sent`` after them.

    The folder and an empty file are made in any case, because a mount needs a target. An existing folder is made again:
    its waiting remover belongs to another run. `UntrustedError` if it is somebody else's.
    """
    remove(node)
    warnings = []
    for secret in node["secrets"]:
        value = given.get(secret["name"]) or _read(secret["source"]) or sent.get(secret["name"], "")
        if not value:
            warnings.append(f"{secret['source']} is missing or empty, both on this node and on the controller")
        folder = os.path.dirname(secret["target"])
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        check_own(folder)
        write_bytes(secret["target"], value.strip().encode("utf-8"), 0o600)
    return warnings


def remove(node: Node) -> None:
    """Remove the secrets of a node."""
    folders = _folders(node)
    if folders:
        import shutil  # noqa: PLC0415

    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def remove_after(node: Node, pid: int) -> None:
    """Have the secrets of a node removed when a process has ended, even if nobody comes to stop the run.

    The remover waits in their folder, and leaves a later folder of the same name alone.
    """
    for folder in _folders(node):
        # Nothing of the run, so without its labels.
        begin(["sh", "-c", _REMOVED_AFTER, str(pid), folder], cwd=folder)


def _folders(node: Node) -> list[str]:
    """Return the folders of a node's secrets that are there and ours."""
    found = []
    for folder in sorted({os.path.dirname(secret["target"]) for secret in node["secrets"]}):
        with contextlib.suppress(FileNotFoundError, UntrustedError):
            check_own(folder)
            found.append(folder)
    return found


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except OSError:
        return ""
