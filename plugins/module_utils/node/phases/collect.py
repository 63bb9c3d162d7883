# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading a node's log for the controller's copy."""

from __future__ import annotations

import base64
import os
import zlib

from ..own_folders import UntrustedError, has_run_folder
from .phase import Answer, Request

# The most of a log that one answer holds.
COLLECT_BYTES = 8 << 20
# Of a longer log its begin, with the settings, and its end, with what went wrong, is kept. In bytes.
KEPT_OF_BEGIN = 64 << 20
KEPT_OF_END = 192 << 20


def collect(request: Request) -> Answer:
    """Return the part of the log from byte ``offset`` on, compressed, and how long the whole is.

    A folder that somebody else could have written gives none; stop has warned of it.
    """
    node = request["node"]
    try:
        is_there = has_run_folder(node["run_folder"]) and os.path.exists(node["log_file"])
    except UntrustedError:
        is_there = False
    if not is_there:
        return {"changed": False, "data": "", "offset": 0, "size": 0}
    with open(node["log_file"], "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        stream.seek(request["offset"])
        part = stream.read(min(COLLECT_BYTES, max(0, size - request["offset"])))
    data = base64.b64encode(zlib.compress(part)).decode("ascii")
    return {"changed": False, "data": data, "offset": request["offset"] + len(part), "size": size}
