# SPDX-License-Identifier: GPL-3.0-or-later
"""The timestamps of a log in seconds. A trainer prints local times, so only times from the same log can be compared."""

from __future__ import annotations

from functools import lru_cache

from .pattern import later

# For stamps without a year: a leap year, so that every day exists in it.
NO_YEAR = 2000

_ZONE = later(rb"(?:Z|([+-])(\d\d):?(\d\d))\Z")


def seconds_of(stamp: bytes) -> float:
    """Return the seconds of ``2026-02-03 04:05:06``, with or without a fraction; raises ValueError for no time."""
    return _minute(stamp[:16]) + float(stamp[17:])


def seconds_without_year(month: bytes, day: bytes, time: bytes) -> float:
    """Return the seconds of a stamp of absl, in the year `NO_YEAR`; raises ValueError if it is not a time."""
    return _minute(b"%d-%b-%b %b" % (NO_YEAR, month, day, time[:5])) + float(time[6:])


def seconds_of_rfc3339(stamp: bytes) -> float:
    """Return the seconds since the epoch of ``2026-02-03T04:05:06.123Z``; raises ValueError for no time."""
    zone = _ZONE.search(stamp)
    if zone is None:
        raise ValueError(f"{stamp!r} has no time zone")
    sign, hours, minutes = zone.groups()
    ahead = (int(hours) * 60 + int(minutes)) * 60.0 if sign else 0.0
    local = _minute(stamp[:16]) + float(stamp[17 : zone.start()].replace(b",", b"."))
    return local + ahead if sign == b"-" else local - ahead


# The stamps of many steps share their minute.
@lru_cache(maxsize=64)
def _minute(text: bytes) -> float:
    year, month, day, hour, minute = (int(text[a:b]) for a, b in ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16)))
    # Not every log has stamps.
    from datetime import datetime, timezone  # noqa: PLC0415

    return datetime(year, month, day, hour, minute, tzinfo=timezone.utc).timestamp()
