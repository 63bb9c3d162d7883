# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies a node's log, and the dumps of its ranks, to the controller, up to the limit that is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...module_utils.node.phases.collect import KEPT_OF_BEGIN, KEPT_OF_END
from ..plain_text import PlainLog
from .answers import Collected, unpacked
from .whole_file import replacing, writing


def collect_log(ask: Callable[[int], Collected], path: Path) -> tuple[int, int]:
    """Write a node's log to a file as plain text, and return its size and the left out part, in bytes.

    ``ask`` returns the node's answer for the part from a byte on. Whatever the node answers, the file's size is
    limited.
    """
    offset = kept = left_out = 0
    plain = PlainLog()
    with replacing(path) as draft, open(draft, "w", encoding="utf-8") as log:
        while True:
            answer = ask(offset)
            part = unpacked(answer["data"])
            offset, kept, size = offset + len(part), kept + len(part), answer["size"]
            log.write(plain.add(part))
            if not part or offset >= size or kept >= KEPT_OF_BEGIN + KEPT_OF_END:
                log.write(plain.add(b"", final=True))
                return size, left_out + max(0, size - offset)
            if not left_out and offset >= KEPT_OF_BEGIN and size - offset > KEPT_OF_END:
                left_out = size - offset - KEPT_OF_END
                offset += left_out
                log.write(
                    plain.add(f"\n[trainops.cluster: {left_out:,} bytes of the log are left out here]\n".encode())
                )


def collect_dump(ask: Callable[[int], Collected], path: Path, most: int) -> int:
    """Write a dump of a rank to a file, if it has ``most`` bytes at most, and return its size; 0 if it is not there."""
    content = b""
    while True:
        answer = ask(len(content))
        part = unpacked(answer["data"])
        content += part
        if answer["size"] > most or len(content) > most:
            return 0
        if not part or len(content) >= answer["size"]:
            break
    if content:
        with writing(path.parent):
            path.parent.mkdir(exist_ok=True)
        with replacing(path) as draft:
            draft.write_bytes(content)
    return len(content)
