# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaving a file in a folder that all nodes should share, for the others to look for, and removing it."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ..phase import Answer

if t.TYPE_CHECKING:
    from ..contracts import Request

_PREFIX = ".trainops-preflight-"


def shared_file(request: Request) -> Answer:
    """Create an empty file in the folder ``shared_file``, or remove it where this is the path of such a file.

    A folder that is missing is replaced by the nearest one above it. ``file`` of the answer is the path of the file;
    None where there is none, or the login cannot write there.
    """
    path = request["shared_file"]
    if os.path.basename(path).startswith(_PREFIX):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return {"file": None}
    while path and not os.path.isdir(path):
        path = os.path.dirname(path)
    path = os.path.join(path, _PREFIX + os.urandom(8).hex())
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        return {"file": None}
    return {"file": path}
