# SPDX-License-Identifier: GPL-3.0-or-later
"""How many of the first steps are warm-up: compilation, kernel tuning, filling caches."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...module_utils.logs.record import in_words
from ..plan.config.words import counted
from .intervals import robust_deviation

if t.TYPE_CHECKING:
    from .columns import StepColumns

AUTO = "auto"

# With fewer steps than this there is no way to know a steady state from a warm-up.
_MIN_STEPS = 12
_ASSUMED = 2
# A step is steady within so many median absolute deviations, scaled to standard deviations, or this part of the median.
_DEVIATIONS = 4.0
_SMALLEST_BAND = 0.05
# The warm-up ends where so many steps in a row are steady.
_IN_A_ROW = 3
# Either is inverse to the other; the first that a log has is looked at.
_PACE = ("step_time_ms", "tokens_per_sec_per_gpu", "tflops_per_gpu")


@dataclass(frozen=True)
class WarmUp:
    """The first ``steps`` of the last attempt of each node that do not count, and why (a sentence).

    ``detected`` says that they were found, not given. ``steady`` is False where no steady state was found. ``apart`` is
    how far their median pace is from that of the second half of the steps, as a part of it.
    """

    steps: int
    reason: str
    detected: bool
    steady: bool = True
    apart: float = 0.0


def parse_warm_up(asked: t.Any) -> int | None:
    """Return the requested number of steps, None for ``auto``; ValueError for anything else.

    An empty text, as from an unanswered survey, means ``auto`` as well.
    """
    text = str(asked).strip()
    if text in (AUTO, ""):
        return None
    if not text.isdecimal():
        raise ValueError(f"warmup_steps is {asked!r}, but must be {AUTO} or a whole number, 0 or more")
    return int(text)


def warm_up_of(asked: int | None, steps_by_node: Mapping[str, StepColumns]) -> WarmUp:
    """Return the warm-up of a run: the requested one, or else the longest of its nodes.

    The steps of earlier attempts and those that a trainer's grammar leaves out are not looked at. The steady pace of a
    node is the median of the second half of its steps. Its warm-up ends where three steps in a row are near it: within
    4 median absolute deviations of the second half (scaled by 1.4826), at least within 5 %. Where that is nowhere in
    the first half, half of the steps are left out and the run is reported as not steady.
    """
    if asked is not None:
        return WarmUp(
            asked, f"The first {counted(asked, 'step')} of each node are left out, as requested.", detected=False
        )
    paces = {node: _pace(steps) for node, steps in steps_by_node.items()}
    most = max((pace.values.size for pace in paces.values()), default=0)
    if most < _MIN_STEPS:
        reason = f"There are too few steps ({most}) to find a steady state; the first {_ASSUMED} are left out."
        return WarmUp(_ASSUMED, reason, detected=False)
    paces = {node: pace for node, pace in paces.items() if pace.values.size >= _MIN_STEPS}
    lengths = {node: _length(pace.values) for node, pace in paces.items()}
    unsteady = [node for node, length in lengths.items() if length is None]
    if unsteady:
        steps = max(int(pace.places[pace.values.size // 2]) for node, pace in paces.items() if node in unsteady)
        reason = f"No steady state was found on {', '.join(unsteady)}; the first half of the steps is left out."
        return WarmUp(steps, reason, detected=True, steady=False)
    before = {node: int(paces[node].places[length]) for node, length in lengths.items() if length}
    if not before:
        return WarmUp(0, "The first steps are as fast as the later ones; there is no warm-up.", detected=True)
    node = max(before, key=before.__getitem__)
    values = paces[node].values
    later = float(np.median(values[values.size // 2 :]))
    first, steady = (in_words(paces[node].metric, value) for value in (values[0], later))
    reason = f"On {node} the pace is steady after the first {counted(before[node], 'step')}: {first}, then {steady}."
    apart = abs(float(np.median(values[: lengths[node]])) / later - 1) if later else 0.0
    return WarmUp(before[node], reason, detected=True, apart=apart)


class _Pace(t.NamedTuple):
    """The pace of a node: values of a metric, and which rows of the attempt they stand in."""

    metric: str
    values: np.ndarray
    places: np.ndarray


def _pace(steps: StepColumns) -> _Pace:
    """Return what shows the pace of the last attempt, of the steps that a grammar does not leave out."""
    in_last = steps.attempt == steps.attempt[-1:]
    looked_at = in_last & (steps.left_out == "")
    metric = next(
        (name for name in _PACE if name in steps.printed and (steps.printed[name] & looked_at).any()), _PACE[0]
    )
    values = steps.metrics.get(metric, np.full(len(steps), np.nan))
    places = np.flatnonzero(looked_at & np.isfinite(values))
    return _Pace(metric, values[places], places - np.count_nonzero(~in_last))


def _length(pace: np.ndarray) -> int | None:
    """Return after how many steps the pace is steady, None if not within the first half."""
    half = pace.size // 2
    later = pace[half:]
    steady = np.median(later)
    band = max(_DEVIATIONS * robust_deviation(later), _SMALLEST_BAND * abs(steady))
    inside = np.abs(pace - steady) <= band
    in_a_row = np.convolve(inside, np.ones(_IN_A_ROW, dtype=int), mode="valid") == _IN_A_ROW
    found = np.flatnonzero(in_a_row[: half + 1])
    return int(found[0]) if found.size else None
