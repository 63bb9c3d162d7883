# SPDX-License-Identifier: GPL-3.0-or-later
"""How long something took, in words."""

from __future__ import annotations

from .words import counted

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
# A log may claim any time; no calendar has more days than this.
_MOST_DAYS = 1e7


def duration(seconds: float) -> str:
    """Return a time such as ``45 s``, ``25 min``, ``2 h 5 min`` or ``30 days``: two units at most."""
    if not abs(seconds) < _MOST_DAYS * _DAY:
        return f"{seconds:.3g} s"
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    if seconds < 2 * _DAY:
        hours, minutes = divmod(round(seconds / _MINUTE), 60)
        return f"{hours} h {minutes} min"
    return counted(round(seconds / _DAY), "day")
