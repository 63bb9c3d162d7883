# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast one core computes: SHA-256 of some megabytes, which fit into its cache in parts."""

from __future__ import annotations

import hashlib
import typing as t

from ..face import Reading, seconds_of

if t.TYPE_CHECKING:
    from ...contracts import Asked
    from ..programs import Programs

_BLOCK = bytes(64 << 10)
_BLOCKS = 64


def measure(asked: Asked, _programs: Programs) -> list[Reading]:
    """Return the seconds that a core needs for 4 MiB."""

    def work() -> None:
        digest = hashlib.sha256()
        for _block in range(_BLOCKS):
            digest.update(_BLOCK)

    return [Reading("cpu", "cpu", seconds_of(asked, work))]
