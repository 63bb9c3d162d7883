# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node may answer when it is held for tests, and when it is tested."""

from __future__ import annotations

import typing as t

from pydantic import AfterValidator, Field, TypeAdapter
from typing_extensions import TypedDict

from ..answer_values import Line
from ..run.answers import Phase, Status

_MOST_READINGS = 1000
_MOST_SAMPLES = 1000
Seconds = t.Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]


class Held(TypedDict):
    """The answer of a node that is held for tests."""

    changed: bool
    status: Status


class Reading(TypedDict):
    """What was measured of a part of a node, in seconds for the same work."""

    probe: Line
    part: Line
    samples: t.Annotated[list[Seconds], Field(min_length=1, max_length=_MOST_SAMPLES)]


def _of_each_part_once(readings: list[Reading]) -> list[Reading]:
    if len({(one["probe"], one["part"]) for one in readings}) < len(readings):
        raise ValueError("a part was measured twice")
    return readings


class Probed(Held):
    """The answer of a node that was tested; ``problems`` are those of probes by their names."""

    measured: t.Annotated[list[Reading], Field(max_length=_MOST_READINGS), AfterValidator(_of_each_part_once)]
    problems: dict[Line, Line]


START = Phase("start", TypeAdapter(Held))
PROBE = Phase("probe", TypeAdapter(Probed))
