# SPDX-License-Identifier: GPL-3.0-or-later
"""What probes have in common: what they get, what they return, and how time is taken.

A probe is a row of `known` and a module with a function ``measure`` that takes what is `Asked` and the `Programs` of
the node, and returns a list of `Reading`. It takes some seconds, and leaves nothing behind. A probe that needs more
than Python's standard library has a function ``found``, too, which says whether this node has that.
"""

from __future__ import annotations

import time
import typing as t

SAMPLES = 5
_TRIES = 6


class Reading(t.NamedTuple):
    """What of the node was measured, and how many seconds the same work took each time.

    ``problem`` says why there is no sample, where only this part could not be measured.
    """

    probe: str
    part: str
    samples: t.List[float]
    problem: str = ""


class Found(t.NamedTuple):
    """Whether a node can do a probe: what it ``lacks`` in words, and the ``units`` that would be measured by name."""

    lacks: str
    units: t.List[str] = []  # noqa: RUF012 - nobody changes it


Measure = t.Callable[[t.Any, t.Any], t.List[Reading]]


def processor_seconds(work: t.Callable[[], object], samples: int = SAMPLES) -> list[float]:
    """Return the seconds of processor time that some work takes, each the least of several tries.

    Processor time passes only while this thread runs, so other processes of a busy machine hardly change it. What they
    do change, as they use caches and the other half of a core, only adds to it: hence the least.
    """
    found = []
    for _sample in range(samples):
        tries = []
        for _try in range(_TRIES):
            began = time.thread_time()
            work()
            tries.append(time.thread_time() - began)
        found.append(min(tries))
    return found
