"""The answers of a hostile node, to fill the controller's memory or disk, to break it, or to forge its output."""

from __future__ import annotations

import base64
import functools
import json
import operator
import random
import resource
import typing as t
import zlib
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.rows import rows_of
from ansible_collections.trainops.cluster.plugins.module_utils.node.contracts import Reading
from ansible_collections.trainops.cluster.plugins.module_utils.node.phase import NodeError, NodeHeldError, RunGoneError
from ansible_collections.trainops.cluster.plugins.plugin_utils.run import collect, follow
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.answers import (
    COLLECT,
    FOLLOW,
    STAGE,
    STOP,
    BadAnswerError,
    Phase,
    accepted,
    unpacked,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.collect import collect_log
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.follow import Follower, Patience
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.program import answer_in

MARK = "\ntrainops-answer:"
FAILURE = {
    "class": "out_of_memory",
    "blame": 90,
    "echo": False,
    "remedy": "",
    "line": "HIP out of memory",
    "rank": None,
    "exit_code": None,
    "severity": "error",
    "step": 2,
}
FOLLOWED: dict[str, t.Any] = {
    "failed": False,
    "changed": False,
    "status": "running",
    "exit_status": None,
    "oom_killed": False,
    "started_at": 1000.0,
    "ended_at": None,
    "now": 1010.0,
    "has_ended": False,
    "log_bytes": 10,
    "log_run_id": "run-1",
    "blocks": [{"attempt": 1, "steps": [1, 2], "steps_total": 9, "metrics": {"loss": [4.0, float("nan")]}}],
    "failures": [FAILURE],
    "survived": [FAILURE],
    "summary": {},
    "last_lines": ["the end"],
    "transports": ["NET/IB"],
    "world_size": 16,
    "settings": {"iterations": [9.0]},
    "signs": ["[rank-"],
    "ranks": ["rank 8"],
    "conflicts": 0,
    "starts": 1,
    "arguments": {"fp8": ["hybrid"]},
    "cursor": {
        "offset": 10,
        "fingerprint": 1,
        "attempt": 1,
        "step": 2,
        "steps_seen": 2,
        "steps_total": 9,
        "transports": ["NET/IB"],
        "world_size": 16,
        "settings": {"iterations": [9.0]},
        "signs": ["[rank-"],
        "ranks": ["rank 8"],
        "conflicts": 0,
        "starts": {"node1:77": {"count": 1, "last": ""}},
        "arguments": {"fp8": ["hybrid"]},
        "memory": {"new_process": True},
    },
}

GROUP: dict[str, t.Any] = {"name": "0", "description": "", "members": [[0, 8, 1]], "entered": 1, "pending": []}
RECORDED: dict[str, t.Any] = {"rank": 0, "file": "/logs/nccl_trace_rank_0", "groups": [GROUP]}
READING = dict.fromkeys(Reading.__annotations__)


def changed(path: str, value: t.Any) -> dict[str, t.Any]:
    """Return an answer of the phase follow with another value at a path."""
    answer = json.loads(json.dumps(FOLLOWED))
    *folders, name = (int(part) if part.isdigit() else part for part in path.split("."))
    functools.reduce(operator.getitem, folders, answer)[name] = value
    return t.cast("dict[str, t.Any]", answer)


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def bomb(size: int) -> str:
    packer = zlib.compressobj(9)
    zeros = bytes(1 << 20)
    return base64.b64encode(b"".join([*(packer.compress(zeros) for _ in range(size >> 20)), packer.flush()])).decode()


def test_an_answer_of_ours_comes_through_as_it_is() -> None:
    checked = accepted(FOLLOW, answer_in(f"Welcome!{MARK}{json.dumps(FOLLOWED)}\nbye"))
    expected = {name: FOLLOWED[name] for name in FOLLOWED if name not in ("summary", "failed")}
    assert json.dumps(checked, sort_keys=True) == json.dumps(expected, sort_keys=True)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("status", "owned"),
        ("status", ["running"]),
        ("exit_status", "0"),
        ("oom_killed", 0),
        ("now", None),
        ("now", 1e300),
        ("started_at", float("nan")),
        ("log_bytes", -1),
        ("log_bytes", True),
        ("blocks", {}),
        ("blocks.0", None),
        ("blocks.0.steps", []),
        ("blocks.0.steps", ["1", "2"]),
        ("blocks.0.steps", [1, 10**30]),
        ("blocks.0.metrics", {"loss": [1.0]}),
        ("blocks.0.metrics", {"../../x": [1.0, 2.0]}),
        ("blocks.0.metrics.loss", [1.0, "x"]),
        ("failures.0.class", "\x1b[2J"),
        ("failures.0", "x"),
        ("last_lines", [1]),
        ("transports", "NET/IB"),
        ("world_size", 1.5),
        ("settings", {"../../x": [1.0]}),
        ("settings", {"iterations": [1.0] * 5}),
        ("signs", [1]),
        ("conflicts", -1),
        ("starts", -1),
        ("cursor.starts", {"node1:77": 2}),
        ("arguments", {"home": ["/root"]}),
        ("arguments", {"fp8": ["x"] * 9}),
        ("survived", [{}]),
        ("readings", [READING | {"temperature": float("inf")}]),
        ("readings", [READING | {"held_down_by": ["x"] * 17}]),
        ("traffic", {"mlx5_0/1": {"sent": -1, "received": 0}}),
        ("traffic", {"mlx5_0/1": [1, 2]}),
        ("traffic", {f"mlx5_{number}/1": {"sent": 1, "received": 1} for number in range(300)}),
        ("ranks_seen", [{"rank": 0, "state": "S", "waits_in": None, "busy": 0.0, "stack": ["x"] * 101}]),
        ("recorded", [{"rank": -1, "file": "", "groups": []}]),
        ("recorded", [RECORDED | {"groups": [GROUP | {"members": [[0, 2**40, 1]]}]}]),
        ("recorded", [RECORDED | {"groups": [GROUP | {"members": [[0, 8]]}]}]),
        ("recorded", [RECORDED | {"groups": [GROUP | {"pending": [{"number": 1}]}]}]),
        ("recorded", [RECORDED] * 300),
        ("ras", ["x"] * 101),
        ("cursor", {}),
        ("cursor.memory", {"new_process": [[[]]]}),
        ("failed", None),
    ],
)
def test_a_value_of_another_type_is_told_with_its_place(path: str, value: t.Any) -> None:
    with pytest.raises(BadAnswerError, match=r"its answer in phase follow is invalid: \w") as told:
        accepted(FOLLOW, changed(path, value))
    assert str(told.value).isprintable()


@pytest.mark.parametrize("phase", [STAGE, STOP, COLLECT], ids=lambda phase: phase.name)
@pytest.mark.parametrize("answer", [{}, {"failed": True}, {"failed": False}, {"failed": True, "message": {}}])
def test_every_phase_is_checked(phase: Phase[t.Any], answer: dict[str, t.Any]) -> None:
    with pytest.raises(BadAnswerError):
        accepted(phase, answer)


@pytest.mark.parametrize(
    "answer",
    ["[" * 100_000, "[]", "1", '{"failed": ' * 50_000, f"[{'[],' * 3_000_000}[]]", "1" * (70 << 20)],
    ids=["deep", "list", "number", "deep objects", "many values", "long"],
)
def test_an_answer_that_would_fill_the_memory_is_refused_before_it_is_read(answer: str) -> None:
    before = peak_megabytes()
    with pytest.raises(NodeError, match="answer"):
        answer_in(MARK + answer)
    assert peak_megabytes() - before < 400


def test_a_small_part_of_a_log_does_not_unpack_to_a_large_one() -> None:
    data = bomb(256 << 20)
    before = peak_megabytes()
    with pytest.raises(BadAnswerError, match="unpacks to more than 8388608 bytes"):
        unpacked(data)
    assert peak_megabytes() - before < 50


@pytest.mark.parametrize("data", ["!", "AAAA", "ä", base64.b64encode(zlib.compress(b"x" * 999)[:-9]).decode()])
def test_a_part_of_a_log_that_is_none_is_refused(data: str) -> None:
    with pytest.raises(BadAnswerError, match="its part of the log"):
        unpacked(data)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "KEPT_OF_BEGIN", 1000)
    monkeypatch.setattr(collect, "KEPT_OF_END", 2000)


def packed(log: bytes) -> str:
    return base64.b64encode(zlib.compress(log)).decode()


def lines(size: int) -> bytes:
    return b"".join(f"line {number:04}\n".encode() for number in range(size // 10))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("size", "left_out"), [(0, 0), (1000, 0), (3000, 0), (3010, 10), (50_000, 47_000)])
def test_of_a_log_begin_and_end_are_kept_with_a_note_between(size: int, left_out: int, tmp_path: Path) -> None:
    log, path = lines(size), tmp_path / "train.log"

    def ask(offset: int) -> dict[str, t.Any]:
        return {"data": packed(log[offset : offset + 500]), "size": len(log)}

    assert collect_log(ask, path) == (size, left_out)
    note = f"\n[trainops.cluster: {left_out:,} bytes of the log are left out here]\n".encode()
    assert path.read_bytes() == (log[:1000] + note + log[-2000:] if left_out else log)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("growth", [10, 10**15], ids=["grows", "claims to be endless"])
def test_a_log_that_never_ends_fills_no_disk(growth: int, tmp_path: Path) -> None:
    size = 0

    def ask(_offset: int) -> dict[str, t.Any]:
        nonlocal size
        size += growth + 500
        return {"data": packed(b"x" * 499 + b"\n"), "size": size}

    reported, left_out = collect_log(ask, tmp_path / "train.log")
    assert (tmp_path / "train.log").stat().st_size < 4000
    assert left_out > 0
    assert reported == size


def test_a_log_on_the_controller_has_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    log = random.Random(1).randbytes(10_000) + b"\x1b]0;owned\x07\xc2\x9b2J"
    collect_log(lambda offset: {"data": packed(log[offset:]), "size": len(log)}, tmp_path / "train.log")
    kept = (tmp_path / "train.log").read_text()
    assert "owned" not in kept
    assert not [character for character in kept if ord(character) < 32 and character not in "\t\n"]
    assert not [character for character in kept if 127 <= ord(character) < 160]


@pytest.mark.parametrize(
    "path",
    ["log_run_id", "failures.0.line", "failures.0.remedy", "last_lines.0", "transports.0"],
)
def test_no_text_of_an_answer_forges_output(path: str) -> None:
    answer = changed(path, "\x1b[2J\x07PASS\nrun\u009b1m")
    told = json.dumps(accepted(FOLLOW, answer), ensure_ascii=False)
    assert "PASS run" in told
    assert told.isprintable()


def test_a_message_of_a_refusal_forges_no_output() -> None:
    with pytest.raises(NodeError) as refused:
        accepted(STAGE, {"failed": True, "message": "held by run \x1b]0;x\x07evil\nPASS"})
    assert str(refused.value) == "held by run evil PASS"


def test_problems_of_a_refusal_are_known_ones_and_forge_no_output() -> None:
    problem = {"code": "port_taken", "values": {"port": 6000, "why": "in use\x1b]0;x\x07\nPASS"}}
    with pytest.raises(NodeError) as refused:
        accepted(STAGE, {"failed": True, "message": "no", "problems": [problem]})
    assert str(refused.value) == "rendezvous port 6000 is not free here (in use PASS)"
    assert [one["code"] for one in refused.value.problems] == ["port_taken"]


@pytest.mark.parametrize(
    "problem",
    [
        {"code": "all_is_well", "values": {}},
        {"code": "port_taken", "values": {"port": 6000}},
        {"code": "port_taken", "values": {"port": 6000, "why": {"nested": "no"}}},
        {"code": "too_little_room", "values": {"paths": [], "disk": "/", "needed_gib": "much", "free_gib": 0.0}},
        {"code": "device_missing", "values": {"path": "/dev/kfd", "Not a name": 1}},
        {"code": "device_missing"},
    ],
)
def test_a_problem_that_our_program_never_has_is_a_bad_answer(problem: dict[str, t.Any]) -> None:
    with pytest.raises(BadAnswerError):
        accepted(STAGE, {"failed": True, "message": "no", "problems": [problem]})


def test_a_refusal_of_an_earlier_version_has_only_its_message() -> None:
    with pytest.raises(NodeError) as refused:
        accepted(STAGE, {"failed": True, "message": "rendezvous port 6000 is not free here"})
    assert refused.value.problems == []


@pytest.mark.parametrize(
    ("kind", "error"),
    [({"gone": True}, RunGoneError), ({"held_by": ["run-2"], "running": False}, NodeHeldError), ({}, NodeError)],
)
def test_a_refusal_says_of_which_kind_it_is(kind: dict[str, t.Any], error: type[NodeError]) -> None:
    with pytest.raises(NodeError, match="no") as refused:
        accepted(STAGE, {"failed": True, "message": "no", **kind})
    assert refused.type is error


def bad() -> dict[str, t.Any]:
    raise BadAnswerError("its answer is not a JSON object")


def follow_answers(board: Board, *answers: t.Callable[[], dict[str, t.Any]]) -> dict[str, t.Any]:
    plan = {"mode": "single_node", "first_step": 1, "nodes": [{"node": "gpu00"}]}
    left = list(answers)
    return Follower(
        lambda _request: left.pop(0)(), board, plan, "gpu00", Patience(1, 3600, 3600), follow.News()
    ).follow()


def test_an_unexpected_answer_ends_the_node_on_the_board_like_any_failure(tmp_path: Path) -> None:
    status = follow_answers(Board(tmp_path), lambda: changed("log_bytes", 11), bad)
    assert (status["status"], status["message"]) == ("bad_answer", "its answer is not a JSON object")
    assert Board(tmp_path).status("gpu00") == status
    assert status["steps"]["last_step"] == 2


def test_steps_without_end_fill_no_disk_and_that_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_MOST_STEPS", 5)
    ended = changed("status", "exited") | {"exit_status": 0}
    status = follow_answers(Board(tmp_path), *(lambda n=n: changed("log_bytes", n) for n in range(9)), lambda: ended)
    assert len(list(rows_of(Board(tmp_path).blocks("gpu00")))) == 4
    assert (status["status"], status["message"]) == ("exited", "its log has more than 5 steps: the rest is not kept")


FACT = {
    "fact": "xid_63",
    "device": "0000:3b:00",
    "line": "NVRM: Xid (PCI:0000:3b:00): 63, pid=7",
    "count": 1,
    "seconds": 60.0,
    "recovered": False,
}


@pytest.mark.parametrize(
    "changes",
    [
        {"counters": {f"eth{number} rx_errors": 1 for number in range(5000)}},
        {"kernel_log": ["x"] * 101},
        {"links_down": ["eth0"] * 300},
        {"facts": [FACT] * 101},
        {"facts": [FACT | {"fact": "xid_0"}]},
        {"facts": [FACT | {"seconds": float("nan")}]},
    ],
    ids=["counters", "kernel log", "links", "facts", "a fact that is none", "no time"],
)
def test_what_changed_on_a_machine_is_bounded(changes: dict[str, t.Any]) -> None:
    quiet = {"booted": False, "counters": {}, "links_down": [], "kernel_log": [], "kernel_lines": 0}
    quiet |= {"kernel_failures": [], "facts": [FACT]}
    answer = {"failed": False, "changed": False, "status": "exited"}
    assert accepted(STOP, {**answer, "machine_changes": quiet})["machine_changes"] == quiet
    with pytest.raises(BadAnswerError, match="machine_changes"):
        accepted(STOP, {**answer, "machine_changes": quiet | changes})
