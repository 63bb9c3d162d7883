# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node may answer, phase by phase. A node is not trusted: whatever else it says is an error, and no traceback.

All texts become lines without control characters here, so whoever keeps or shows them need not think of that.
"""

from __future__ import annotations

import base64
import binascii
import typing as t
import zlib

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from ...module_utils.logs.ending import UNNAMED
from ...module_utils.logs.record import EVIDENCE, METRICS
from ...module_utils.logs.settings import MOST_VALUES, SETTINGS
from ...module_utils.logs.signatures.known import PYTHON_ERROR, SIGNATURES
from ...module_utils.node.phase import NodeError, NodeHeldError, RunGoneError
from ...module_utils.node.phases.collect import COLLECT_BYTES
from .plain_text import one_line


class BadAnswerError(NodeError):
    """What a node answered is nothing that a node of ours answers."""


_MOST_DEVICES = 256
_MOST_LINES = 100
_MOST_REMOVED = 100_000
# 16 adapters with some dozens of counters each.
_MOST_COUNTERS = 4096


def _one_of(words: t.Iterable[str]) -> t.Callable[[str], str]:
    known = frozenset(words)

    def check(word: str) -> str:
        if word not in known:
            raise ValueError("this is none of the words that are known here")
        return word

    return check


Line = t.Annotated[str, AfterValidator(one_line)]
Count = t.Annotated[int, Field(ge=0, le=2**53)]
Number = t.Annotated[int, Field(ge=-(2**31), le=2**31)]
# Seconds since the epoch, such that a calendar knows them whatever is added.
Time = t.Annotated[float, Field(ge=0, le=1e10)]
Finite = t.Annotated[float, Field(allow_inf_nan=False)]
Status = t.Literal["not_started", "staged", "running", "exited", "killed", "stopped"]
FailureClass = t.Annotated[str, AfterValidator(_one_of(one.failure for one in (*SIGNATURES, PYTHON_ERROR, UNNAMED)))]
SettingName = t.Annotated[str, AfterValidator(_one_of(SETTINGS))]
MetricName = t.Annotated[str, AfterValidator(_one_of((*METRICS, *EVIDENCE)))]

Settings = dict[SettingName, t.Annotated[list[float], Field(max_length=MOST_VALUES)]]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)


class _Refused(_Part):
    message: Line
    gone: bool = False
    held_by: t.Annotated[list[Line], Field(max_length=_MOST_LINES)] = []
    running: bool = True


class _Accelerators(_Part):
    name: Line | None
    count: Count
    driver: Line | None
    driver_version: Line | None
    firmware: dict[Line, Line]


class _Nic(_Part):
    name: Line
    driver: Line | None
    driver_version: Line | None
    firmware: Line | None
    rate: Line | None


class _Hardware(_Part):
    os: Line | None
    kernel: Line | None
    cpu: Line | None
    accelerators: _Accelerators | None
    nics: list[_Nic]


class _Answer(_Part):
    program: t.Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None


class _Done(_Answer):
    changed: bool
    status: Status
    warnings: list[Line] = []


class _Staged(_Done):
    image_id: Line | None = None
    removed: t.Annotated[list[Line], Field(max_length=_MOST_REMOVED)] = []
    hardware: _Hardware | None = None


class _Block(_Part):
    attempt: Count
    steps: list[Count] = Field(min_length=1)
    steps_total: Count | None
    metrics: dict[MetricName, list[float]]
    left_out: Line | None = None

    @model_validator(mode="after")
    def _columns_are_whole(self) -> t.Self:
        if any(len(column) != len(self.steps) for column in self.metrics.values()):
            raise ValueError("a metric has more or fewer values than there are steps")
        return self


class _Failure(_Part):
    failure_class: FailureClass = Field(alias="class")
    blame: Number
    echo: bool
    remedy: Line
    line: Line
    rank: int | None
    exit_code: int | None


class _Seen(_Part):
    transports: list[Line]
    world_size: Count | None
    settings: Settings
    signs: list[Line]
    ranks: list[Line]
    conflicts: Count
    wrong_perplexities: Count


# The names of what every answer, and a log that nobody followed, says of a training beside its steps.
SEEN = tuple(_Seen.model_fields)


class _Starts(_Part):
    count: Count
    last: Line


class _Cursor(_Seen):
    offset: Count
    fingerprint: Count
    attempt: Count
    step: Count | None
    steps_seen: Count
    steps_total: Count | None
    starts: dict[Line, _Starts]
    memory: dict[Line, bool | Count | Line | None]


class _Reading(_Part):
    temperature: Finite | None
    power: Finite | None
    clock: Finite | None
    ecc_uncorrected: Finite | None


class _Rank(_Part):
    rank: Number
    state: t.Annotated[str, Field(max_length=1)]
    waits_in: Line | None
    busy: t.Annotated[float, Field(ge=0, le=1e6)]
    stack: t.Annotated[list[Line], Field(max_length=_MOST_LINES)] | None


class _MachineChanges(_Part):
    booted: bool
    counters: t.Annotated[dict[Line, Count], Field(max_length=_MOST_COUNTERS)]
    kernel_log: t.Annotated[list[Line], Field(max_length=_MOST_LINES)] | None
    kernel_lines: Count
    kernel_failures: list[_Failure] = Field(max_length=_MOST_LINES)


class _Collected(_Answer):
    data: str
    size: Count


class _Stopped(_Done):
    machine_changes: _MachineChanges | None = None
    log: _Collected | None = None


class _Finished(_Stopped):
    log: _Collected


class _Followed(_Done, _Seen):
    exit_status: Number | None
    oom_killed: bool
    booted: bool = False
    engine_problem: Line | None = None
    full_disk: Line | None = None
    log_problem: Line | None = None
    has_ended: bool
    started_at: Time | None
    ended_at: Time | None
    now: Time
    log_bytes: Count
    log_run_id: Line | None
    blocks: list[_Block]
    failures: list[_Failure]
    failures_at_end: list[_Failure] = []
    last_lines: list[Line] = []
    pausing: bool = False
    ranks_seen: list[_Rank] = Field(default=[], max_length=_MOST_DEVICES)
    readings: list[_Reading] = Field(default=[], max_length=_MOST_DEVICES)
    starts: Count
    cursor: _Cursor
    finished: _Finished | None = None


_ANSWERS: dict[str, type[_Part]] = {
    "stage": _Staged,
    "follow": _Followed,
    "stop": _Stopped,
    "collect": _Collected,
}


def accepted(phase: str, answer: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return what is used of an answer; `NodeError` with its message where it says that the phase failed.

    `BadAnswerError` for what no node of ours answers.
    """
    failed = answer.get("failed") is not False
    try:
        checked = (_Refused if failed else _ANSWERS[phase]).model_validate(answer)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = one_line(".".join(map(str, first["loc"])))[:100] or "it"
        raise BadAnswerError(
            f"its answer in phase {phase} cannot be believed, {place}: {one_line(first['msg'])}"
        ) from None
    if isinstance(checked, _Refused):
        if checked.held_by:
            raise NodeHeldError(checked.message, checked.held_by, checked.running)
        raise (RunGoneError if checked.gone else NodeError)(checked.message)
    return checked.model_dump(exclude_unset=True, by_alias=True)


def unpacked(data: str) -> bytes:
    """Return the part of a log in an answer; `BadAnswerError` where it is none, or larger than any of ours."""
    if not data:
        return b""
    unpacker = zlib.decompressobj()
    try:
        part = unpacker.decompress(base64.b64decode(data, validate=True), COLLECT_BYTES)
    except (binascii.Error, zlib.error, ValueError):
        raise BadAnswerError("its part of the log cannot be unpacked") from None
    if not unpacker.eof:
        raise BadAnswerError(f"its part of the log is torn, or unpacks to more than {COLLECT_BYTES} bytes")
    return part
