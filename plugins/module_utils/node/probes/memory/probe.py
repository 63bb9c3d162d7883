# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast memory is copied, in blocks that are larger than caches."""

from __future__ import annotations

import typing as t

from ..face import Reading, seconds_of

if t.TYPE_CHECKING:
    from ...contracts import Asked
    from ..programs import Programs

_BYTES = 64 << 20


def measure(asked: Asked, _programs: Programs) -> list[Reading]:
    """Return the seconds that a core needs to copy 64 MiB."""
    source, target = memoryview(bytes(_BYTES)), memoryview(bytearray(_BYTES))

    def work() -> None:
        target[:] = source

    return [Reading("memory", "memory", seconds_of(asked, work, samples=3))]
