# SPDX-License-Identifier: GPL-3.0-or-later
"""The face that all probes share: their arguments, their results, and how they take time.

A probe is a row of `known` and a module with a function ``measure`` that takes an `Asked` and the `Programs` of the
node, and returns a list of `Reading`. It takes some seconds, and leaves nothing behind. A probe that needs more than
Python's standard library also has a function ``found``, which says whether this node has that.
"""

from __future__ import annotations

import math
import time
import typing as t

if t.TYPE_CHECKING:
    from ..contracts import Asked

SAMPLES = 5
_TRIES = 6
# Longer than an interruption of the processor: a period of a control group is 0.1 s.
_LASTING_SECONDS = 0.3
_REHEARSED_SECONDS = 0.01


class Reading(t.NamedTuple):
    """The measured part of the node, and the seconds that the same work took each time.

    ``problem`` says why there is no sample, if only this part could not be measured.
    """

    probe: str
    part: str
    samples: t.List[float]
    problem: str = ""


class Found(t.NamedTuple):
    """Whether a node can do a probe: what it ``lacks`` in words, and the ``units`` that would be measured by name."""

    lacks: str
    units: t.List[str] = []  # noqa: RUF012 - nobody changes it


# Reading an output of an unexpected shape raises one of these.
UNEXPECTED = (ArithmeticError, AttributeError, LookupError, TypeError)


Measure = t.Callable[[t.Any, t.Any], t.List[Reading]]


def seconds_of(asked: Asked, work: t.Callable[[], object], samples: int = SAMPLES) -> list[float]:
    """Return the seconds that some work takes on this node; a rehearsal does it once and states them."""
    if asked["rehearsal"]:
        work()
        return rehearsed_seconds(asked["slowdown"], samples=samples)
    return clock_seconds(work, samples)


def clock_seconds(work: t.Callable[[], object], samples: int = SAMPLES) -> list[float]:
    """Return the seconds that some work takes by the clock, each the mean of as many times as last long enough.

    Anything that takes the processor away is part of the result, such as a limit of a control group, a busy neighbour
    or a hot core: a training would feel it too.
    """
    found = []
    for _sample in range(samples):
        times, began = 0, time.perf_counter()
        while times < _TRIES or time.perf_counter() - began < _LASTING_SECONDS:
            work()
            times += 1
        found.append((time.perf_counter() - began) / times)
    return found


def rehearsed_seconds(*slowdowns: float, samples: int = SAMPLES) -> list[float]:
    """Return the seconds stated in a rehearsal: the same for all nodes, times each of the ``slowdowns``.

    Nothing is measured. Nodes of a rehearsal may share a machine, where time says more about who else uses it.
    """
    return [_REHEARSED_SECONDS * math.prod(slowdowns)] * samples
