"""The journal of a Slurm job: the controller reads what tasks send through srun, and one look serves all."""

from __future__ import annotations

import io
import os
import random
import threading
import typing as t
from pathlib import Path

import node_answers
import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.cursor import new_cursor
from ansible_collections.trainops.cluster.plugins.module_utils.slurm import journal
from ansible_collections.trainops.cluster.plugins.module_utils.slurm.desk import WORD_NAME
from ansible_collections.trainops.cluster.plugins.module_utils.slurm.journal import (
    JOURNAL_NAME,
    Answers,
    Sieve,
    Teller,
    gather,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.answers import FOLLOW
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.node_errors import NodeEndedError, NodeLostError
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm import journal as controller_journal
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.journal import JobNode, Journal


class Task:
    """A task as srun hears it: its lines, each with the task's number before it."""

    def __init__(self, number: int) -> None:
        self.number, self._stream = number, io.BytesIO()
        self.teller = Teller(self._stream)

    def lines(self) -> list[bytes]:
        told = self._stream.getvalue().splitlines(keepends=True)
        self._stream.seek(0)
        self._stream.truncate()
        return [f"{self.number:02}: ".encode() + line for line in told]


def read(path: Path, *phases: str) -> list[tuple[int, str, dict[str, t.Any]]]:
    return list(Answers(str(path), phases).more())


def test_an_answer_whose_end_has_a_line_of_its_own_gets_into_the_journal(tmp_path: Path) -> None:
    numbers = random.Random(17)
    told = [{"n": n, "text": numbers.randbytes(400 + n % 400).hex()} for n in range(900)]
    task = Task(0)
    for answer in told:
        task.teller.tell("follow", answer)
    lines = task.lines()
    assert any(line.endswith(b" .\n") for line in lines)
    sieve = Sieve(failed=print, log=print)
    path = tmp_path / "journal"
    path.write_bytes(b"".join(map(sieve, lines)))
    assert [answer for _number, _phase, answer in read(path, "follow")] == told


def test_answers_of_any_length_come_as_they_were_told_whatever_is_told_in_between(tmp_path: Path) -> None:
    numbers = random.Random(17)
    tasks = [Task(number) for number in range(3)]
    told = [{"n": n, "text": "".join(chr(numbers.randrange(32, 999)) for _ in range(n * 1500))} for n in range(4)]
    for task in tasks:
        for answer in told:
            task.teller.tell("follow", answer)
    queues = [task.lines() for task in tasks]
    assert max(len(line) for lines in queues for line in lines) < 1024
    path = tmp_path / "journal"
    with path.open("wb") as stream:
        while any(queues):
            stream.write(numbers.choice([lines for lines in queues if lines]).pop(0))
    found = read(path, "follow")
    assert [[answer for number, _phase, answer in found if number == task] for task in range(3)] == [told] * 3


def test_an_answer_like_the_one_before_it_takes_few_bytes() -> None:
    task = Task(0)
    answer = {"settings": {f"setting_{n}": [n] for n in range(200)}, "step": 1}
    task.teller.tell("follow", answer)
    first = sum(map(len, task.lines()))
    task.teller.tell("follow", {**answer, "step": 2})
    assert sum(map(len, task.lines())) < first / 4


def test_a_reader_takes_only_the_phases_that_it_wants_and_only_what_is_new(tmp_path: Path) -> None:
    path, task = tmp_path / "journal", Task(5)
    answers = Answers(str(path), ("stop",))
    assert list(answers.more()) == []
    for phase in ("stage", "start", "follow", "stop"):
        task.teller.tell(phase, {"phase": phase})
    path.write_bytes(b"".join(task.lines()))
    assert list(answers.more()) == [(5, "stop", {"phase": "stop"})]
    assert list(answers.more()) == []
    assert answers.heard == {5}


def test_what_is_torn_or_no_answer_spoils_nothing_else(tmp_path: Path) -> None:
    path, one, other = tmp_path / "journal", Task(1), Task(2)
    one.teller.tell("follow", {"n": 1})
    other.teller.tell("follow", {"n": 2})
    junk = [
        b"slurmstepd: error\n",
        b"01: follow\n",
        b"01: follow ^!!.\n",
        b"99: \xff\xfe\n",
        b"x: follow ^eJw.\n",
        b"\n",
    ]
    path.write_bytes(b"".join([*junk, *one.lines(), *other.lines()])[:-3])
    assert read(path, "follow") == [(1, "follow", {"n": 1})]


def test_a_task_that_begins_again_is_understood(tmp_path: Path) -> None:
    path, first, again = tmp_path / "journal", Task(0), Task(0)
    first.teller.tell("stop", {"n": 1})
    again.teller.tell("stop", {"n": 2})
    path.write_bytes(b"".join([*first.lines(), *again.lines()]))
    assert [answer for *_, answer in read(path, "stop")] == [{"n": 1}, {"n": 2}]


class Kept:
    """The effect of a sieve on lines that are not an answer."""

    def __init__(self) -> None:
        self.failed: list[int] = []
        self.logs: list[tuple[int, int, bytes]] = []
        self.sieve = Sieve(self.failed.append, lambda *part: self.logs.append(part))


def test_only_answers_of_labelled_tasks_get_into_the_journal_and_only_so_much_of_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journal, "_MOST_OF_TASK", 3000)
    kept, liar, honest = Kept(), Task(1), Task(2)
    for n in range(100):
        liar.teller.tell("follow", {"n": n, "text": str(random.Random(n).random()) * 9})
    honest.teller.tell("follow", {"n": 1})
    good = honest.lines()
    junk = [b"3: " + b"x" * 1000 + b"\n", b"2: follow \xff\n", b"follow eA==.\n", b"\n", b"-1: follow eA==.\n"]
    through = kept.sieve(b"".join([*junk, *liar.lines(), *good])).splitlines(keepends=True)
    assert through[-len(good) :] == good
    assert 2000 < sum(len(line) for line in through if line.startswith(b"01: ")) <= 3000
    assert {line[:4] for line in through} == {b"01: ", b"02: "}


def test_a_failure_and_a_log_are_those_of_the_task_that_srun_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_MOST_OF_TASK", 300_000)
    kept, task = Kept(), Task(7)
    task.teller.say("failed")
    task.teller.say("failed")
    data = bytes(range(256)) * 500
    for offset in (0, 128_000, -1, 1 << 50, 256_000):
        task.teller.tell("log", {"offset": offset, "data": data.decode("latin-1")})
    task.teller.tell("log", {"offset": "0", "data": None})
    assert kept.sieve(b"".join(task.lines())) == b""
    assert kept.failed == [7]
    assert kept.logs == [(7, 0, data), (7, 128_000, data)]


def test_an_answer_without_an_end_takes_no_more_memory_than_one_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_MOST_OF_ANSWER", 2000)
    path, task = tmp_path / "journal", Task(0)
    task.teller.tell("follow", {"n": 1})
    path.write_bytes(b"0: follow ^" + b"A" * 900 + b"\n" + b"0: follow AAAA\n" * 1000 + b"".join(task.lines()))
    assert read(path, "follow") == [(0, "follow", {"n": 1})]


def test_what_a_task_prints_among_its_errors_is_bounded_and_what_srun_says_is_kept() -> None:
    said = [b"srun: error: gpu02: task 1: Killed\n", *[b"1: " + b"x" * 1000 + b"\n"] * 5000, b" 2: why\n"]
    kept = list(journal.within_bounds(said))
    assert len(kept) < 1100
    assert kept[0] == said[0]
    assert kept[-1] == said[-1]


@pytest.fixture
def srun() -> t.Iterator[tuple[int, t.BinaryIO]]:
    source, sink = os.pipe()
    with os.fdopen(sink, "wb", buffering=0) as stream:
        yield source, stream
    os.close(source)


def test_all_that_is_gathered_stands_in_the_journal_after_what_was_torn(
    tmp_path: Path, srun: tuple[int, t.BinaryIO]
) -> None:
    path, lines = tmp_path / "journal", b"".join(f"{n}: follow {'x' * 900}\n".encode() for n in range(500))
    path.write_bytes(b"torn")
    source, stream = srun

    def write() -> None:
        stream.write(lines + b"half")
        stream.close()

    threading.Thread(target=write).start()
    assert gather(source, str(path), bytes) == 0
    assert path.read_bytes() == b"torn\n" + lines


def test_what_cannot_be_written_now_is_written_once_it_can_be(
    tmp_path: Path, srun: tuple[int, t.BinaryIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, stream = srun
    folder = tmp_path / "full"

    def second(_seconds: float) -> None:
        if not folder.exists():
            folder.mkdir()
            stream.write(b"0: follow two\n")
            stream.close()

    monkeypatch.setattr(journal.time, "sleep", second)
    stream.write(b"0: follow one\n")
    assert gather(source, str(folder / "journal"), bytes) == 0
    assert (folder / "journal").read_bytes() == b"\n0: follow one\n0: follow two\n"


class Job:
    """A job that ends on request."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir, self.over = run_dir, False

    def is_over(self, _age: float = 0) -> bool:
        return self.over

    def end_in_words(self) -> str:
        return "Slurm's job 1 ended as NODE_FAIL"


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[Job]:
    monkeypatch.setattr(controller_journal, "_LOOK_SECONDS", 0.01)
    job = Job(tmp_path)
    yield job
    job.over = True


def followed(step: int, status: str = "running") -> dict[str, t.Any]:
    return {"status": status, "blocks": [step], "failures": [], "survived": [], "log_bytes": step}


def test_hours_that_nobody_followed_are_one_answer_and_an_end_is_its_own(job: Job) -> None:
    task = Task(0)
    for step in range(1000):
        task.teller.tell("follow", followed(step))
    task.teller.tell("follow", followed(1000, "stopped"))
    (job.run_dir / JOURNAL_NAME).write_bytes(b"".join(task.lines()))
    followed_up = Journal(t.cast(t.Any, job), ("follow",), [0])
    first = followed_up.next(0, "follow")
    assert (first["blocks"], first["log_bytes"]) == (list(range(1000)), 999)
    assert followed_up.next(0, "follow")["status"] == "stopped"


@pytest.mark.parametrize(
    ("word", "after", "exit_status", "seen"),
    [
        ("stop", 0.5, 1, ("stopped", None)),
        ("stop", 0.5, None, ("stopped", None)),
        ("stop", 0.5, 0, ("exited", 0)),
        ("stop", -60.0, 1, ("exited", 1)),
        ("", 0.5, 1, ("exited", 1)),
    ],
)
def test_a_rank_that_fails_after_a_stop_of_which_its_task_has_not_heard_is_stopped(
    job: Job, word: str, after: float, exit_status: int | None, seen: tuple[str, int | None]
) -> None:
    (job.run_dir / WORD_NAME).write_text(word)
    ended_at = (job.run_dir / WORD_NAME).stat().st_mtime + after
    task = Task(0)
    status = "killed" if exit_status is None else "exited"
    ended = {"exit_status": exit_status, "ended_at": ended_at, "oom_killed": False, "failed": False, "changed": True}
    task.teller.tell("follow", node_answers.answer(status, message="", cursor=new_cursor(), **ended))
    (job.run_dir / JOURNAL_NAME).write_bytes(b"".join(task.lines()))
    node = JobNode(Journal(t.cast(t.Any, job), ("follow",), [0]), "gpu01", 0)
    heard = node.ask(FOLLOW, wait_seconds=1.0, cursor={})
    assert (heard["status"], heard["exit_status"]) == seen


def test_who_waits_for_a_node_gets_its_answer_or_how_the_job_ended(job: Job) -> None:
    started = Journal(t.cast(t.Any, job), ("start",), [0, 1])
    with pytest.raises(NodeLostError, match="it has not answered for 0 s"):
        started.next(0, "start", 0.01)
    task = Task(1)
    task.teller.tell("start", {"status": "running"})
    (job.run_dir / JOURNAL_NAME).write_bytes(b"".join(task.lines()))
    assert started.next(1, "start") == {"status": "running"}
    assert [started.has_heard(place) for place in (0, 1)] == [False, True]
    job.over = True
    with pytest.raises(NodeEndedError, match="ended as NODE_FAIL"):
        started.next(0, "start")


def test_who_waits_learns_that_nobody_reads_any_more(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_age: float = 0) -> bool:
        raise OSError("no process can be started")

    monkeypatch.setattr(job, "is_over", broken)
    monkeypatch.setattr(threading, "excepthook", lambda _args: None)
    with pytest.raises(NodeEndedError, match="could not be read"):
        Journal(t.cast(t.Any, job), ("start",), [0]).next(0, "start")
