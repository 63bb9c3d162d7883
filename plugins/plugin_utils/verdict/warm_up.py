# SPDX-License-Identifier: GPL-3.0-or-later
"""How many of the first steps are warm-up: compilation, kernel tuning, filling caches."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..contracts import WarmUpSteps
from ..plan.job.sizes import ASSUMED_WARM_UP
from ..text.catalogue import VERDICT
from ..text.numbers import quantity_of
from ..text.sentences import filled
from .intervals import robust_deviation

if t.TYPE_CHECKING:
    from .frame import StepColumns

AUTO = "auto"

# Fewer steps cannot show a steady state.
_MIN_STEPS = 12
# A step is steady within so many median absolute deviations, scaled to standard deviations, or this part of the median.
_DEVIATIONS = 4.0
_SMALLEST_BAND = 0.05
# The warm-up ends where so many steps in a row are steady.
_IN_A_ROW = 3
# The first of these that a log has is used; rates are inverse to times.
_PACE = ("step_time_ms", "tokens_per_sec_per_gpu", "tflops_per_gpu")


@dataclass(frozen=True)
class WarmUp:
    """The first ``steps`` of each node's last attempt, which do not count, and the case and values of the reason.

    ``detected`` means that they were found, not given. ``steady`` is False if no steady state was found. ``apart`` is
    how far their median pace is from the median pace of the steps that count, as a fraction, on the node where it is
    furthest.
    """

    steps: int
    case: str
    values: Mapping[str, t.Any]
    detected: bool
    steady: bool = True
    apart: float = 0.0

    @property
    def code(self) -> str:
        """Return the code of the finding that says why these steps do not count."""
        return "warm_up" if self.steady else "not_steady"

    def in_summary(self) -> WarmUpSteps:
        """Return the warm-up's part of a summary."""
        return {
            "steps": self.steps,
            "reason": filled(VERDICT[self.code][self.case].one, self.values),
            "detected": self.detected,
            "steady": self.steady,
            "apart": self.apart,
        }


def parse_warm_up(asked: t.Any) -> int | None:
    """Return the requested number of steps, None for ``auto``; ValueError for anything else.

    An empty text, for example from an unanswered survey, means ``auto`` as well.
    """
    text = str(asked).strip()
    if text in (AUTO, ""):
        return None
    if not text.isdecimal():
        raise ValueError(f"warmup_steps is {asked!r}, but must be {AUTO} or a whole number, 0 or more")
    return int(text)


def warm_up_of(asked: int | None, steps_by_node: Mapping[str, StepColumns]) -> WarmUp:
    """Return the warm-up of a run: the requested one, or else the longest of its nodes.

    Steps of earlier attempts, and steps that a trainer's grammar leaves out, are ignored. The steady pace of a node is
    the median of the second half of its steps. Its warm-up ends where three steps in a row are near it: within 4 median
    absolute deviations of the second half (scaled by 1.4826), at least within 5 %. If the first half has no such place,
    half of the steps are left out and the run is reported as not steady.
    """
    paces = {node: _pace(steps) for node, steps in steps_by_node.items()}
    if asked is not None:
        return WarmUp(asked, "asked", {"steps": asked}, detected=False, apart=_apart(paces, asked))
    most = max((pace.values.size for pace in paces.values()), default=0)
    if most < _MIN_STEPS:
        few = {"steps": ASSUMED_WARM_UP, "printed": most}
        return WarmUp(ASSUMED_WARM_UP, "assumed", few, detected=False, apart=_apart(paces, ASSUMED_WARM_UP))
    paces = {node: pace for node, pace in paces.items() if pace.values.size >= _MIN_STEPS}
    lengths = {node: _length(pace.values) for node, pace in paces.items()}
    unsteady = [node for node, length in lengths.items() if length is None]
    if unsteady:
        steps = max(int(pace.places[pace.values.size // 2]) for node, pace in paces.items() if node in unsteady)
        return WarmUp(steps, "", {"steps": steps, "nodes": unsteady}, detected=True, steady=False)
    before = {node: int(paces[node].places[length]) for node, length in lengths.items() if length}
    if not before:
        return WarmUp(0, "none", {"steps": 0}, detected=True)
    node = max(before, key=before.__getitem__)
    values = paces[node].values
    later = float(np.median(values[values.size // 2 :]))
    first, steady = (quantity_of(paces[node].metric, float(value)) for value in (values[0], later))
    slow = {"steps": before[node], "first": first, "steady": steady, "slowest": node}
    case = "of_node" if len(paces) > 1 else ""
    return WarmUp(before[node], case, slow, detected=True, apart=_apart(paces, before[node]))


class _Pace(t.NamedTuple):
    """The pace of a node: values of a metric, and their rows in the attempt."""

    metric: str
    values: np.ndarray
    places: np.ndarray


def _apart(paces: Mapping[str, _Pace], steps: int) -> float:
    """Return how far the median pace of the first rows is from the other rows' pace, on the node furthest off."""
    furthest = 0.0
    for pace in paces.values():
        first = pace.places < steps
        before, later = pace.values[first], pace.values[~first]
        usual = float(np.median(later)) if later.size else 0.0
        if before.size and usual:
            furthest = max(furthest, abs(float(np.median(before)) / usual - 1))
    return furthest


def _pace(steps: StepColumns) -> _Pace:
    """Return the pace of the last attempt, without the steps that a grammar leaves out."""
    in_last = steps.attempt == steps.attempt[-1:]
    looked_at = in_last & (steps.left_out == "")
    metric = next(
        (name for name in _PACE if name in steps.printed and (steps.printed[name] & looked_at).any()), _PACE[0]
    )
    values = steps.metrics.get(metric, np.full(len(steps), np.nan))
    places = np.flatnonzero(looked_at & np.isfinite(values))
    return _Pace(metric, values[places], places - np.count_nonzero(~in_last))


def _length(pace: np.ndarray) -> int | None:
    """Return the number of steps after which the pace is steady, None if not within the first half."""
    half = pace.size // 2
    later = pace[half:]
    steady = np.median(later)
    band = max(_DEVIATIONS * robust_deviation(later), _SMALLEST_BAND * abs(steady))
    inside = np.abs(pace - steady) <= band
    in_a_row = np.convolve(inside, np.ones(_IN_A_ROW, dtype=int), mode="valid") == _IN_A_ROW
    found = np.flatnonzero(in_a_row[: half + 1])
    return int(found[0]) if found.size else None
