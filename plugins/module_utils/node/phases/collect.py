# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading a node's log for the controller's copy."""

from __future__ import annotations

import base64
import contextlib
import os
import typing as t
import zlib

from ..own_folders import UntrustedError, has_run_folder
from ..phase import Answer
from ..run_state import holds_another_run

if t.TYPE_CHECKING:
    from ..contracts import Request

# The largest part of a log in one answer.
COLLECT_BYTES = 8 << 20
# A longer log is cut in the middle: its settings are at the beginning, its failure at the end. In bytes.
KEPT_OF_BEGIN = 64 << 20
KEPT_OF_END = 192 << 20
_NO_LOG: Answer = {"data": "", "size": 0}


def collect(request: Request) -> Answer:
    """Return the part of the log from byte ``offset`` on, compressed, as ``data``, and the ``size`` of the whole.

    With ``dump_of_rank`` it returns that rank's flight-recorder dump in place of the log. It returns nothing for a
    folder that somebody else could have written, or that belongs to another run of this name; stop has warned about it.
    """
    node = request["node"]
    with contextlib.suppress(UntrustedError):
        if has_run_folder(node["run_folder"]) and not _is_of_another(request):
            if "dump_of_rank" in request:
                from ..flight_recorder import path_of_dump  # noqa: PLC0415

                path = path_of_dump(node, request["dump_of_rank"])
                return part_of_log(path, request["offset"]) if path else dict(_NO_LOG)
            return part_of_log(node["log_file"], request["offset"])
    return dict(_NO_LOG)


def _is_of_another(request: Request) -> bool:
    # The log is worth having even if the state beside it is damaged.
    with contextlib.suppress(ValueError):
        return holds_another_run(request["node"], request["run_id"], request["identity"]["nonce"])
    return False


def part_of_log(path: str, offset: int) -> Answer:
    """Return the answer of `collect` for a log, even if it is missing."""
    try:
        with open(path, "rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(offset)
            part = stream.read(COLLECT_BYTES)
    except FileNotFoundError:
        return dict(_NO_LOG)
    return {"data": base64.b64encode(zlib.compress(part)).decode("ascii"), "size": size}
