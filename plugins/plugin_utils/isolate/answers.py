# SPDX-License-Identifier: GPL-3.0-or-later
"""The answers that a node may give when it is reserved for tests, and when it is tested."""

from __future__ import annotations

import typing as t

from pydantic import AfterValidator, Field, TypeAdapter
from typing_extensions import TypedDict

from ..answer_values import Count, Finite, Line
from ..run.answers import Phase, Status

_MOST_READINGS = 1000
_MOST_SAMPLES = 1000
_MOST_UNITS = 64
_MOST_REASONS = 16
# No clock measures shorter times; zeros would break logarithms and ratios.
Seconds = t.Annotated[float, Field(ge=1e-9, le=1e6, allow_inf_nan=False)]


class Held(TypedDict):
    """The answer of a node that is reserved for tests."""

    changed: bool
    status: Status


class Reading(TypedDict):
    """What was measured of a part of a node, in seconds for the same work, or the problem that it has."""

    probe: Line
    part: Line
    samples: t.Annotated[list[Seconds], Field(max_length=_MOST_SAMPLES)]
    problem: Line


def _of_each_part_once(readings: list[Reading]) -> list[Reading]:
    if any(bool(one["samples"]) == bool(one["problem"]) for one in readings):
        raise ValueError("a part has neither samples nor a problem, or both")
    if len({(one["probe"], one["part"]) for one in readings}) < len(readings):
        raise ValueError("a part was measured twice")
    return readings


class Telemetry(TypedDict):
    """An accelerator's readings while it was tested, with the units of node_inspect's sensors."""

    part: Line
    temperature: Finite | None
    power: Finite | None
    power_limit: Finite | None
    clock: Finite | None
    clock_limit: Finite | None
    ecc_corrected: Finite | None
    ecc_uncorrected: Finite | None
    held_down_by: t.Annotated[list[Line], Field(max_length=_MOST_REASONS)] | None
    pcie_speed: Finite | None
    pcie_speed_limit: Finite | None
    pcie_width: Count | None
    pcie_width_limit: Count | None


class Probed(Held):
    """The answer of a node that was tested; ``problems`` are by probe name."""

    measured: t.Annotated[list[Reading], Field(max_length=_MOST_READINGS), AfterValidator(_of_each_part_once)]
    problems: dict[Line, Line]
    telemetry: t.NotRequired[t.Annotated[list[Telemetry], Field(max_length=_MOST_UNITS)]]


class FoundHere(TypedDict):
    """What a node lacks for a probe, empty if nothing, and the units that it would measure."""

    lacks: Line
    units: t.Annotated[list[Line], Field(max_length=_MOST_UNITS)]


class Process(TypedDict):
    """A process of a node, and how many cores it keeps busy, if that was measured."""

    pid: Count
    command: Line
    user: Line
    run_id: Line | None
    cores: t.NotRequired[Finite]


class PortState(TypedDict):
    """The state and the rate of an RDMA port, in the words of its driver, and the model of its adapter."""

    state: Line | None
    rate: Line | None
    model: t.NotRequired[Line | None]


_Processes = t.Annotated[list[Process], Field(max_length=_MOST_UNITS)]


class Present(TypedDict):
    """The roll-call of a node, see `module_utils.node.roll_call`."""

    gpus: t.Annotated[list[Line], Field(max_length=_MOST_READINGS)]
    on_bus: Count | None
    ports: t.Annotated[dict[Line, PortState], Field(max_length=_MOST_READINGS)]
    on_gpus: _Processes | None
    busy: _Processes
    busy_cores: Finite
    cores: t.Annotated[int, Field(ge=1, le=2**31)]


class Equipped(Held):
    """The answer of a node that was asked which probes it can do, with its roll-call."""

    found: dict[Line, FoundHere]
    present: t.NotRequired[Present]


START = Phase("start", TypeAdapter(Held))
TOOLS = Phase("tools", TypeAdapter(Equipped))
PROBE = Phase("probe", TypeAdapter(Probed))
