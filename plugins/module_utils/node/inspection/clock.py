# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's own estimate of its clock's accuracy, from adjtimex(2) without a tool; nothing is adjusted."""

from __future__ import annotations

import ctypes
import time
import typing as t

_STA_UNSYNC = 0x0040  # linux/timex.h


class _Timex(ctypes.Structure):
    """``struct timex`` as far as it is read here; the rest is room for the kernel to write to."""

    _fields_: t.ClassVar = [
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_long * 64),
    ]


def clock_facts(began: float) -> dict[str, t.Any]:
    """Return the ``time`` now and when the inspection ``began``, in seconds since the epoch.

    ``synchronized`` and ``estimated_error_seconds`` are the kernel's, from the clock's keeper; None if it does not say.
    """
    asked = _Timex()
    answered = ctypes.CDLL(None).adjtimex(ctypes.byref(asked)) >= 0
    synchronized = answered and not asked.status & _STA_UNSYNC
    return {
        "began": began,
        "time": time.time(),
        "synchronized": synchronized if answered else None,
        "estimated_error_seconds": asked.esterror / 1e6 if synchronized else None,
    }
