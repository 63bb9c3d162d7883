# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node may answer, phase by phase."""

from __future__ import annotations

import base64
import binascii
import typing as t
import zlib

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from ...module_utils.logs.ending import UNNAMED, End
from ...module_utils.logs.record import EVIDENCE, METRICS
from ...module_utils.logs.settings import ARGUMENTS, MOST_VALUES, SETTINGS
from ...module_utils.logs.signatures.known import PYTHON_ERROR, SIGNATURES
from ...module_utils.node.contracts import PhaseNeeds
from ...module_utils.node.machine_facts import ROW_OF
from ...module_utils.node.phase import NodeError, NodeHeldError, RunGoneError
from ...module_utils.node.phases.collect import COLLECT_BYTES
from ..answer_values import Count, Finite, Line, Number, Time, first_wrong
from ..text.problems import SENTENCES, in_words


class BadAnswerError(NodeError):
    """A node's answer cannot come from our node program."""


_MOST_DEVICES = 256
_MOST_LINES = 100
_MOST_REMOVED = 100_000
# 16 adapters with some dozens of counters each.
_MOST_COUNTERS = 4096
_MOST_REASONS = 16
_MOST_VALUES_OF_A_PROBLEM = 10


def _one_of(words: t.Iterable[str]) -> t.Callable[[str], str]:
    known = frozenset(words)

    def check(word: str) -> str:
        if word not in known:
            raise ValueError("unknown value")
        return word

    return check


Status = t.Literal["not_started", "staged", "running", "exited", "killed", "stopped"]
FailureClass = t.Annotated[str, AfterValidator(_one_of(one.failure for one in (*SIGNATURES, PYTHON_ERROR, UNNAMED)))]
SettingName = t.Annotated[str, AfterValidator(_one_of(SETTINGS))]
MetricName = t.Annotated[str, AfterValidator(_one_of((*METRICS, *EVIDENCE)))]
FactName = t.Annotated[str, AfterValidator(_one_of(ROW_OF))]

# The limit keeps a span of ranks, which is expanded, from filling the memory.
Rank = t.Annotated[int, Field(ge=0, le=2**20)]

Nonce = t.Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]

ArgumentName = t.Annotated[str, AfterValidator(_one_of(ARGUMENTS))]
Arguments = dict[ArgumentName, t.Annotated[list[Line], Field(max_length=MOST_VALUES)]]
Settings = dict[SettingName, t.Annotated[list[float], Field(max_length=MOST_VALUES)]]


def _with_sentence(problem: _Problem) -> _Problem:
    try:
        in_words([problem])
    except (KeyError, IndexError, ValueError):
        raise ValueError("its values do not fit its sentence") from None
    return problem


ProblemCode = t.Annotated[str, AfterValidator(_one_of(SENTENCES))]
_Name = t.Annotated[str, Field(pattern="^[a-z_]{1,40}$")]
_Value = Line | Count | Finite | None | t.Annotated[list[Line], Field(max_length=_MOST_LINES)]


class _Problem(TypedDict):
    code: ProblemCode
    values: t.Annotated[dict[_Name, _Value], Field(max_length=_MOST_VALUES_OF_A_PROBLEM)]


class _Refused(TypedDict):
    """What keeps a node from a phase; a program of an earlier version sends only the ``message``."""

    message: Line
    problems: t.NotRequired[
        t.Annotated[list[t.Annotated[_Problem, AfterValidator(_with_sentence)]], Field(max_length=_MOST_LINES)]
    ]
    gone: t.NotRequired[bool]
    held_by: t.NotRequired[t.Annotated[list[Line], Field(max_length=_MOST_LINES)]]
    running: t.NotRequired[bool]


class _Accelerators(TypedDict):
    name: Line | None
    count: Count
    driver: Line | None
    driver_version: Line | None
    firmware: dict[Line, Line]


class _Nic(TypedDict):
    name: Line
    driver: Line | None
    driver_version: Line | None
    firmware: Line | None
    rate: Line | None


class _Hardware(TypedDict):
    os: Line | None
    kernel: Line | None
    cpu: Line | None
    accelerators: _Accelerators | None
    nics: list[_Nic]


class _Answer(TypedDict):
    program: t.NotRequired[t.Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None]


class _Done(_Answer):
    changed: bool
    status: Status
    warnings: t.NotRequired[list[Line]]


class Staged(_Done):
    """The answer of a node with everything in place, or, in check mode, with a list of missing items."""

    image_id: t.NotRequired[Line | None]
    removed: t.NotRequired[t.Annotated[list[Line], Field(max_length=_MOST_REMOVED)]]
    hardware: t.NotRequired[_Hardware | None]
    nonce: t.NotRequired[Nonce]


class _Block(TypedDict):
    attempt: Count
    steps: t.Annotated[list[Count], Field(min_length=1)]
    steps_total: Count | None
    metrics: dict[MetricName, list[float]]
    left_out: t.NotRequired[Line]


def _of_whole_columns(block: _Block) -> _Block:
    if any(len(column) != len(block["steps"]) for column in block["metrics"].values()):
        raise ValueError("a metric has more or fewer values than there are steps")
    return block


# "class" is a keyword of Python.
_Failure = TypedDict(
    "_Failure",
    {
        "class": FailureClass,
        "blame": Number,
        "echo": bool,
        "remedy": Line,
        "line": Line,
        "rank": int | None,
        "exit_code": int | None,
        "severity": t.Literal["", "info", "warning", "error"],
        "step": Count | None,
    },
)


class _Seen(TypedDict):
    transports: list[Line]
    world_size: Count | None
    settings: Settings
    signs: list[Line]
    ranks: list[Line]
    conflicts: Count
    arguments: Arguments


# The keys, other than steps, that describe a training in every answer and in a log that nobody followed.
SEEN = tuple(_Seen.__annotations__)
# The keys that describe the end of a log in the last answer.
END = tuple(End.__annotations__)


class _Starts(TypedDict):
    count: Count
    last: Line


class Cursor(_Seen):
    """The position in a log that is being read."""

    offset: Count
    fingerprint: Count
    attempt: Count
    step: Count | None
    steps_seen: Count
    steps_total: Count | None
    starts: dict[Line, _Starts]
    memory: dict[Line, bool | Count | Line | None]


class _Reading(TypedDict):
    temperature: Finite | None
    power: Finite | None
    power_limit: Finite | None
    clock: Finite | None
    clock_limit: Finite | None
    utilization: Finite | None
    memory_used: Finite | None
    memory_total: Finite | None
    ecc_corrected: Finite | None
    ecc_uncorrected: Finite | None
    ecc_uncorrected_ever: Finite | None
    held_down_by: t.Annotated[list[Line], Field(max_length=_MOST_REASONS)] | None


class _Traffic(TypedDict):
    sent: Count
    received: Count


_TrafficByPort = t.Annotated[dict[Line, _Traffic], Field(max_length=_MOST_DEVICES)]


class _Rank(TypedDict):
    rank: Number
    local_rank: t.NotRequired[Count]
    state: t.Annotated[str, Field(max_length=1)]
    waits_in: Line | None
    busy: t.Annotated[float, Field(ge=0, le=1e6)]
    stack: t.Annotated[list[Line], Field(max_length=_MOST_LINES)] | None


class _Pending(TypedDict):
    number: Count
    operation: Line
    sizes: Line
    started: bool
    is_transfer: bool
    peer: Count | None


class _Group(TypedDict):
    name: Line
    description: Line
    members: t.Annotated[
        list[t.Annotated[list[Rank], Field(min_length=3, max_length=3)]],
        Field(max_length=_MOST_LINES),
    ]
    entered: Count
    pending: t.Annotated[list[_Pending], Field(max_length=_MOST_LINES)]


class _Recorded(TypedDict):
    rank: Count
    file: Line
    groups: t.Annotated[list[_Group], Field(max_length=_MOST_LINES)] | None


class _Fact(TypedDict):
    fact: FactName
    device: Line
    line: Line
    count: Count
    seconds: Finite
    recovered: bool


class _MachineChanges(TypedDict):
    booted: bool
    counters: t.Annotated[dict[Line, Count], Field(max_length=_MOST_COUNTERS)]
    links_down: t.Annotated[list[Line], Field(max_length=_MOST_DEVICES)]
    kernel_log: t.Annotated[list[Line], Field(max_length=_MOST_LINES)] | None
    kernel_lines: Count
    kernel_failures: t.Annotated[list[_Failure], Field(max_length=_MOST_LINES)]
    facts: t.Annotated[list[_Fact], Field(max_length=_MOST_LINES)]


class Collected(_Answer):
    """A part of a log, packed, and the bytes of the whole log."""

    data: str
    size: Count


class _Ended(_Done):
    machine_changes: t.NotRequired[_MachineChanges | None]
    traffic: t.NotRequired[_TrafficByPort]


class Stopped(_Ended):
    """The answer of a node where the run no longer has any process."""

    log: t.NotRequired[Collected | None]


class Finished(_Ended):
    """What a node adds to `Followed` if it has stopped the rest of a training by itself."""

    log: Collected


class Followed(_Done, _Seen):
    """What a training did since the last answer, and where the next answer continues."""

    exit_status: Number | None
    oom_killed: bool
    booted: t.NotRequired[bool]
    engine_problem: t.NotRequired[Line | None]
    container_removed: t.NotRequired[bool]
    full_disk: t.NotRequired[Line | None]
    ran_seconds: t.NotRequired[Time]
    log_problem: t.NotRequired[Line | None]
    has_ended: bool
    started_at: Time | None
    ended_at: Time | None
    now: Time
    log_bytes: Count
    log_run_id: Line | None
    blocks: list[t.Annotated[_Block, AfterValidator(_of_whole_columns)]]
    failures: list[_Failure]
    survived: list[_Failure]
    failures_at_end: t.NotRequired[list[_Failure]]
    unusual_at_end: t.NotRequired[list[_Failure]]
    said_end: t.NotRequired[bool]
    last_lines: t.NotRequired[list[Line]]
    pausing: t.NotRequired[bool]
    ranks_seen: t.NotRequired[t.Annotated[list[_Rank], Field(max_length=_MOST_DEVICES)]]
    recorded: t.NotRequired[t.Annotated[list[_Recorded], Field(max_length=_MOST_DEVICES)]]
    ras: t.NotRequired[t.Annotated[list[Line], Field(max_length=_MOST_LINES)]]
    readings: t.NotRequired[t.Annotated[list[_Reading], Field(max_length=_MOST_DEVICES)]]
    traffic: t.NotRequired[_TrafficByPort]
    starts: Count
    cursor: Cursor
    finished: t.NotRequired[Finished | None]


_REFUSED = TypeAdapter(_Refused)
A = t.TypeVar("A")


class Phase(t.NamedTuple, t.Generic[A]):
    """A phase by its name, and the checks of its answers."""

    name: str
    answer: TypeAdapter[A]


STAGE = Phase("stage", TypeAdapter(Staged))
FOLLOW = Phase("follow", TypeAdapter(Followed))
STOP = Phase("stop", TypeAdapter(Stopped))
COLLECT = Phase("collect", TypeAdapter(Collected))


class Ask(t.Protocol):
    """What asks a node."""

    def __call__(self, phase: Phase[A], **needs: t.Unpack[PhaseNeeds]) -> A:
        """Request a phase with its data, and return the node's answer; raises `NodeError`."""


def accepted(phase: Phase[A], answer: dict[str, t.Any]) -> A:
    """Return the used part of an answer; `NodeError` with its message if it says that the phase failed.

    `BadAnswerError` for an invalid answer.
    """
    try:
        if answer.get("failed") is False:
            return phase.answer.validate_python(answer, strict=True)
        refused = _REFUSED.validate_python(answer, strict=True)
    except ValidationError as error:
        raise BadAnswerError(f"its answer in phase {phase.name} is invalid: {first_wrong(error)}") from None
    problems = refused.get("problems", [])
    message = in_words(problems) or refused["message"]
    if refused.get("held_by"):
        raise NodeHeldError(refused["held_by"], refused.get("running", True), problems, message)
    raise (RunGoneError if refused.get("gone") else NodeError)(message, problems)


def unpacked(data: str) -> bytes:
    """Return the part of a log in an answer; `BadAnswerError` if it is invalid or too large."""
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
