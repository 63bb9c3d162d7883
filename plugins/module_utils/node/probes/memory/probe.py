# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast memory is copied, in blocks that are larger than caches."""

from __future__ import annotations

import typing as t

from ..face import Reading, seconds_of

if t.TYPE_CHECKING:
    from ...contracts import Asked
    from ..programs import Programs

_BYTES = 64 << 20
# So that a slow node of a rehearsal copies as many parts more.
_PARTS = 20


def measure(asked: Asked, _programs: Programs) -> list[Reading]:
    """Return the seconds that a core needs to copy 64 MiB."""
    source, target = memoryview(bytes(_BYTES)), memoryview(bytearray(_BYTES))
    size = _BYTES // _PARTS
    starts = [number % _PARTS * size for number in range(round(_PARTS * asked["slowdown"]))]

    def work() -> None:
        for start in starts:
            target[start : start + size] = source[start : start + size]

    return [Reading("memory", "memory", seconds_of(asked, work, samples=3))]
