"""The phases of a run over all of its nodes, each played by a function that answers as a node does."""

from __future__ import annotations

import base64
import threading
import typing as t
import zlib

import node_answers
import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.phase import NodeError, NodeHeldError, RunGoneError
from ansible_collections.trainops.cluster.plugins.module_utils.node.problems import problem
from ansible_collections.trainops.cluster.plugins.plugin_utils.run import phases as phases_module
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.answers import Phase
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.follow import Patience
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.node_errors import (
    NodeEndedError,
    NodeLostError,
    lost,
    refused,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.on_each import on_each
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.phases import Outcome, Phases

NODES = ["gpu00", "gpu01", "gpu02"]
LOG = b"the log\n"
ZIPPED = base64.b64encode(zlib.compress(LOG[::-1])).decode()
ANSWERS: dict[str, dict[str, t.Any]] = {
    "stage": {"changed": True, "status": "staged", "image_id": "sha256:1", "program": "a" * 64},
    "follow": node_answers.answer("exited", changed=True, exit_status=0, ended_at=1010.0),
    "stop": {"changed": False, "status": "exited"},
    "collect": {"data": base64.b64encode(zlib.compress(LOG)).decode(), "size": len(LOG)},
}


class Cluster:
    """Nodes that answer correctly except for given answers, by node and phase; ``asked`` has the requests."""

    def __init__(self, board: Board, given: dict[tuple[str, str], t.Any], mode: str = "multi_node") -> None:
        self.given = given
        self.asked: list[tuple[str, str]] = []
        self.needs: list[dict[str, t.Any]] = []
        plan: t.Any = {"run_id": "run-5", "mode": mode, "first_step": 1, "nodes": [{"node": node} for node in NODES]}
        self.phases = Phases(plan, board, {node: self._node(node) for node in NODES}, at_once=2)

    def _node(self, node: str) -> t.Callable[..., dict[str, t.Any]]:
        def ask(asked: Phase[t.Any], **needs: t.Any) -> dict[str, t.Any]:
            phase = asked.name
            self.asked.append((node, phase))
            self.needs.append(needs)
            answer = self.given.get((node, phase), ANSWERS[phase])
            if isinstance(answer, Exception):
                raise answer
            if callable(answer):
                return answer(**needs) if phase == "collect" else answer()
            return dict(answer)

        return ask

    def of(self, phase: str) -> list[str]:
        return sorted(node for node, asked in self.asked if asked == phase)


@pytest.fixture
def board(tmp_path):
    return Board(tmp_path)


PATIENCE = Patience(interval=1, lost=0, stall=3600)


def test_a_run_goes_through_its_phases_on_every_node(board):
    cluster = Cluster(board, {})
    assert cluster.phases.stage(lambda _node: {}) == Outcome(changed=True)
    assert cluster.phases.train(PATIENCE, 1.0) == Outcome(changed=True)
    assert cluster.phases.finish(1.0) == Outcome()
    for phase in ANSWERS:
        assert cluster.of(phase) == NODES
    assert [board.status(node)["status"] for node in NODES] == ["exited"] * 3
    assert board.status("gpu01")["following"]["program"] == "a" * 64
    assert {board.log_path(node).read_bytes() for node in NODES} == {LOG}


@pytest.mark.parametrize(
    ("error", "status", "unfit"),
    [
        (lost(problem("no_route", said="No route to host")), "unreachable", False),
        (refused(problem("port_taken", port=1, why="in use")), "not_started", True),
        (NodeError("an earlier version said this"), "not_started", True),
        (NodeHeldError(["other"], True, [], "the node is held by run other"), "not_started", False),
    ],
)
def test_what_is_wrong_with_a_node_keeps_no_other_from_being_asked_and_is_on_the_board(board, error, status, unfit):
    cluster = Cluster(board, {("gpu01", "stage"): error})
    assert cluster.phases.stage(lambda _node: {}).problems == [f"gpu01: {error}"]
    assert cluster.of("stage") == NODES
    assert [board.status(node)["status"] for node in NODES] == ["staged", status, "staged"]
    assert (board.status("gpu01")["message"], board.status("gpu01")["problems"]) == (str(error), error.problems)
    assert board.status("gpu01")["unfit"] is unfit
    cluster.given = {}
    cluster.phases.stage(lambda _node: {})
    assert [board.status(node)["unfit"] for node in NODES] == [False] * 3
    assert board.status("gpu01")["problems"] == []


@pytest.mark.parametrize(
    ("by", "running", "staged"),
    [("run-6", False, NODES), ("run-4", False, ["gpu00", "gpu02"]), ("run-6", True, ["gpu00", "gpu02"])],
    ids=["it comes first", "it comes later", "the other trains"],
)
def test_of_runs_that_take_nodes_from_each_other_the_first_gets_all(board, by, running, staged):
    def answers():
        yield NodeHeldError([by], running, [], "the node is held")
        yield ANSWERS["stage"]

    of_node = answers()

    def answer():
        found = next(of_node)
        if isinstance(found, Exception):
            raise found
        return dict(found)

    cluster = Cluster(board, {("gpu01", "stage"): answer})
    problems = cluster.phases.stage(lambda _node: {}).problems
    assert [node for node in NODES if board.status(node)["status"] == "staged"] == staged
    assert bool(problems) is (staged != NODES)


@pytest.mark.parametrize(("holders", "is_staged"), [(["run-6", "run-7", "run-8"], True), (["run-6"] * 3, False)])
def test_a_run_waits_as_long_as_other_runs_release_their_nodes(board, monkeypatch, holders, is_staged):
    now = [1000.0]
    monkeypatch.setattr(phases_module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(phases_module.time, "sleep", lambda _seconds: now.__setitem__(0, now[0] + 45))
    left = list(holders)

    def answer():
        if left:
            raise NodeHeldError([left.pop(0)], False, [], "the node is held")
        return dict(ANSWERS["stage"])

    cluster = Cluster(board, {("gpu01", "stage"): answer})
    assert (cluster.phases.stage(lambda _node: {}).problems == []) is is_staged


def test_of_twenty_runs_at_once_one_gets_all_nodes_and_the_others_say_who_holds_them(tmp_path, monkeypatch):
    monkeypatch.setattr(phases_module, "_TIE_POLL_SECONDS", 0.001)
    held: dict[str, str] = {}
    started: set[str] = set()
    lock, barrier = threading.Lock(), threading.Barrier(20)

    def of_run(run_id: str) -> Outcome:
        def node_of(node: str) -> t.Callable[..., dict[str, t.Any]]:
            def ask(_asked: Phase[t.Any], **_needs: t.Any) -> dict[str, t.Any]:
                with lock:
                    holder = held.setdefault(node, run_id)
                if holder != run_id:
                    raise NodeHeldError([holder], holder in started, [], f"held by {holder}")
                return dict(ANSWERS["stage"])

            return ask

        plan: t.Any = {"run_id": run_id, "mode": "multi_node", "first_step": 1, "nodes": []}
        phases = Phases(plan, Board(tmp_path / run_id), {node: node_of(node) for node in NODES}, at_once=2)
        barrier.wait()
        outcome = phases.stage(lambda _node: {})
        with lock:
            if outcome.problems:
                for node in [node for node, holder in held.items() if holder == run_id]:
                    del held[node]
            else:
                started.add(run_id)
        return outcome

    outcomes, errors = on_each([f"run-{number:02}" for number in range(20)], of_run, 20)
    assert errors == {}
    (winner,) = started
    assert set(held.values()) == {winner}
    for run_id, outcome in outcomes.items():
        assert all(isinstance(error, NodeHeldError) for error in outcome.errors.values())
        assert bool(outcome.errors) is (run_id != winner)


def test_a_run_that_got_no_node_waits_for_none(board):
    cluster = Cluster(board, {(node, "stage"): NodeHeldError(["run-6"], False, [], "held") for node in NODES})
    assert cluster.phases.stage(lambda _node: {}).problems == ["gpu[00-02]: held"]
    assert cluster.of("stage") == NODES


def test_the_same_fault_of_all_nodes_is_one_problem_and_one_warning(board):
    cluster = Cluster(board, {(node, "stage"): NodeError(f"/logs/{node} is full") for node in NODES})
    assert cluster.phases.stage(lambda _node: {}).problems == ["gpu[00-02]: /logs/gpu[00-02] is full"]
    cluster.given = {(node, "stop"): {**ANSWERS["stop"], "warnings": ["a container stays"]} for node in NODES}
    assert cluster.phases.finish(1.0).warnings == ["gpu[00-02]: a container stays"]


@pytest.mark.parametrize(("mode", "last"), [("multi_node", "running"), ("single_node", "exited")])
def test_a_node_that_refuses_to_start_is_a_problem_and_ends_a_multi_node_run_and_no_other(board, mode, last):
    def until_the_other_has_refused() -> dict[str, t.Any]:
        while not board.status("gpu00")["message"]:
            pass
        ended = cluster.asked.count(("gpu01", "follow")) > 3
        return {**ANSWERS["follow"], "status": "exited" if ended else "running", "has_ended": ended}

    given = {("gpu00", "follow"): NodeError("not staged"), ("gpu01", "follow"): until_the_other_has_refused}
    cluster = Cluster(board, given, mode)
    outcome = cluster.phases.train(PATIENCE, 1.0)
    assert outcome == Outcome(changed=True, problems=["gpu00: not staged"], errors=outcome.errors)
    assert list(outcome.errors) == ["gpu00"]
    assert cluster.asked.count(("gpu00", "follow")) == 1
    assert [board.status(node)["status"] for node in NODES] == ["not_started", last, "exited"]


def test_nodes_with_different_images_are_not_started(board):
    cluster = Cluster(board, {("gpu01", "stage"): {**ANSWERS["stage"], "image_id": "sha256:2"}})
    cluster.phases.stage(lambda _node: {})
    (problem,) = cluster.phases.train(PATIENCE, 1.0).problems
    assert "gpu[00,02] has sha256:1; gpu01 has sha256:2" in problem
    assert cluster.of("follow") == []


def test_all_nodes_are_followed_at_the_same_time_however_few_may_be_asked_at_once(board):
    together = threading.Barrier(len(NODES), timeout=30)
    waits = {(node, "follow"): lambda: together.wait() + 1 and ANSWERS["follow"] for node in NODES}
    Cluster(board, waits).phases.train(PATIENCE, 1.0)
    assert [board.status(node)["status"] for node in NODES] == ["exited"] * 3


@pytest.mark.parametrize(("mode", "last"), [("multi_node", "running"), ("single_node", "exited")])
def test_a_node_that_is_lost_ends_a_multi_node_run_and_no_other(board, mode, last):
    def until_the_other_is_lost() -> dict[str, t.Any]:
        while board.status("gpu00")["status"] != "unreachable":
            pass
        ended = cluster.asked.count(("gpu01", "follow")) > 3
        return {**ANSWERS["follow"], "status": "exited" if ended else "running", "has_ended": ended}

    given = {("gpu00", "follow"): NodeLostError("no route"), ("gpu01", "follow"): until_the_other_is_lost}
    cluster = Cluster(board, given, mode)
    assert cluster.phases.train(PATIENCE, 1.0).problems == []
    assert [board.status(node)["status"] for node in NODES] == ["unreachable", last, "exited"]


@pytest.mark.parametrize("before", ["running", "exited"])
def test_a_run_is_finished_on_every_node_that_answers_and_one_that_does_not_is_noted(board, before):
    board.update("gpu01", status=before)
    cluster = Cluster(board, {("gpu01", "stop"): NodeLostError("no route")})
    assert cluster.phases.finish(1.0).problems == ["gpu01: no route"]
    assert cluster.of("stop") == NODES
    assert cluster.of("collect") == ["gpu00", "gpu02"]
    assert board.status("gpu01")["status"] == ("unreachable" if before == "running" else "exited")


def recorded(*ranks: int) -> list[dict[str, t.Any]]:
    return [{"rank": rank, "file": f"/logs/nccl_trace_rank_{rank}", "groups": []} for rank in ranks]


class Dumping:
    """A node that sends its log, and the dump of each rank in two parts."""

    def __init__(self, size: int = 4) -> None:
        self.size = size

    def __call__(self, offset: int, dump_of_rank: int | None = None) -> dict[str, t.Any]:
        if dump_of_rank is None:
            return dict(ANSWERS["collect"])
        part = f"dump of {dump_of_rank}".encode()[offset:][:5]
        return {"data": base64.b64encode(zlib.compress(part)).decode() if part else "", "size": self.size}


@pytest.mark.parametrize(
    ("mode", "size", "kept"),
    [
        ("multi_node", 9, {"nccl_trace_rank_2": b"dump of 2", "nccl_trace_rank_3": b"dump of 3"}),
        # More than is kept of a run: it stays on the node.
        ("multi_node", 1 << 30, {}),
        # Each node has a rank 0.
        ("single_node", 9, {}),
    ],
)
def test_the_dumps_of_a_job_s_ranks_are_kept_together(board, tmp_path, mode, size, kept):
    board.update("gpu01", status="stalled", recorded=recorded(2, 3))
    cluster = Cluster(board, {("gpu01", "collect"): Dumping(size)}, mode)
    assert cluster.phases.finish(1.0).problems == []
    assert {path.name: path.read_bytes() for path in tmp_path.glob("flight_recorder/*")} == kept
    assert board.log_path("gpu01").read_bytes() == LOG


def test_a_dump_that_cannot_be_had_is_no_problem_of_the_run(board, tmp_path):
    def answer(dump_of_rank: int | None = None, **needs: t.Any) -> dict[str, t.Any]:
        if dump_of_rank is not None:
            raise NodeLostError("no route")
        return Dumping()(**needs)

    board.update("gpu01", status="stalled", recorded=recorded(2))
    assert Cluster(board, {("gpu01", "collect"): answer}).phases.finish(1.0).problems == []
    assert not (tmp_path / "flight_recorder").exists()


def test_a_log_that_comes_along_with_the_stop_is_not_asked_for(board):
    cluster = Cluster(board, {("gpu01", "stop"): {**ANSWERS["stop"], "log": {**ANSWERS["collect"], "data": ZIPPED}}})
    cluster.phases.finish(1.0)
    assert cluster.of("collect") == ["gpu00", "gpu02"]
    assert [board.log_path(node).read_bytes() for node in NODES] == [LOG, LOG[::-1], LOG]


CHANGES = {
    "booted": False,
    "counters": {},
    "links_down": [],
    "kernel_log": ["link down"],
    "kernel_lines": 1,
    "kernel_failures": [],
    "facts": [],
}
TRAFFIC = {"mlx5_0/1": {"sent": 7, "received": 9}}


def finished(data: str = ZIPPED, size: int = len(LOG)) -> dict[str, t.Any]:
    stopped = {**ANSWERS["stop"], "machine_changes": CHANGES, "traffic": TRAFFIC, "log": {"data": data, "size": size}}
    return {**ANSWERS["follow"], "finished": stopped}


def test_a_node_that_finished_where_its_training_ended_is_not_asked_again_until_it_is_staged_again(board):
    cluster = Cluster(board, {("gpu01", "follow"): finished()})
    cluster.phases.stage(lambda _node: {})
    cluster.phases.train(PATIENCE, 1.0)
    assert cluster.phases.finish(1.0) == Outcome()
    assert cluster.of("stop") == cluster.of("collect") == ["gpu00", "gpu02"]
    assert board.log_path("gpu01").read_bytes() == LOG[::-1]
    assert board.status("gpu01")["machine"]["changes"] == CHANGES
    assert board.status("gpu01")["machine"]["traffic"] == TRAFFIC
    cluster.phases.stage(lambda _node: {})
    cluster.phases.finish(1.0)
    assert cluster.of("stop") == ["gpu00", "gpu00", "gpu01", "gpu02", "gpu02"]


def test_a_node_whose_end_was_not_noted_before_the_controller_was_killed_is_asked_again(board):
    cluster = Cluster(board, {("gpu01", "follow"): finished()})
    cluster.phases.stage(lambda _node: {})
    cluster.phases.train(PATIENCE, 1.0)
    board.update("gpu01", status="running")
    cluster.phases.finish(1.0)
    assert "gpu01" in cluster.of("stop")
    assert board.status("gpu01")["status"] == "exited"


@pytest.mark.parametrize("ended", [{"status": "running", "exit_status": None}, {"exit_status": 1}])
def test_a_node_that_says_it_finished_without_a_good_end_is_stopped_all_the_same(board, ended):
    lies = iter([finished() | ended])
    cluster = Cluster(board, {("gpu01", "follow"): lambda: next(lies, ANSWERS["follow"])})
    cluster.phases.train(PATIENCE, 1.0)
    cluster.phases.finish(1.0)
    assert cluster.of("stop") == NODES


@pytest.mark.parametrize("wrong", [finished(size=len(LOG) + 1), finished(data="no log")], ids=["short", "torn"])
def test_a_node_whose_log_it_finished_with_cannot_be_believed_is_asked_again(board, wrong):
    cluster = Cluster(board, {("gpu01", "follow"): wrong})
    cluster.phases.train(PATIENCE, 1.0)
    assert board.status("gpu01")["status"] == "bad_answer"
    cluster.phases.finish(1.0)
    assert cluster.of("stop") == NODES
    assert board.log_path("gpu01").read_bytes() == LOG


@pytest.mark.parametrize(("interrupted", "status"), [(True, "stopped"), (False, "exited")])
def test_a_rank_that_ends_because_its_peers_are_being_stopped_was_stopped_too(board, interrupted, status):
    board.update("gpu01", status="running", interrupted=interrupted)
    Cluster(board, {}).phases.finish(1.0)
    assert board.status("gpu01")["status"] == status


AGO = {"ended_at": 1000.0, "now": 1010.0}


@pytest.mark.parametrize(
    ("followed", "mode", "status", "exit_status"),
    [
        ({**AGO, "exit_status": 0}, "multi_node", "exited", 0),
        ({**AGO, "exit_status": 1}, "multi_node", "exited", 1),
        ({"exit_status": 1, "ended_at": 1011.0}, "multi_node", "stopped", 1),
        ({"exit_status": 1, "ended_at": 1011.0}, "single_node", "exited", 1),
    ],
    ids=["well, before", "badly, before", "badly, as its peers were stopped", "badly, by itself"],
)
def test_how_a_training_ended_that_nobody_followed_is_asked_when_it_is_stopped(
    board, followed, mode, status, exit_status
):
    for node in NODES:
        board.update(node, status="running")
    stopped = {("gpu00", "stop"): {"changed": True, "status": "stopped"}}
    cluster = Cluster(board, {**stopped, ("gpu01", "follow"): {**ANSWERS["follow"], **followed}}, mode)
    assert cluster.phases.finish(1.0).problems == []
    assert cluster.of("follow") == NODES
    assert (board.status("gpu01")["status"], board.status("gpu01")["process"]["exit_status"]) == (status, exit_status)
    assert (board.status("gpu00")["status"], board.status("gpu02")["status"]) == ("stopped", "exited")


@pytest.mark.parametrize(("followed", "asked"), [(True, []), (False, ["gpu01"])])
@pytest.mark.parametrize("ended", ["exited", "killed", "stopped"])
def test_where_a_node_is_known_to_have_failed_the_others_were_stopped_however_they_ended_meanwhile(
    board, ended, followed, asked
):
    board.update("gpu00", status="killed")
    board.update("gpu01", status="running", followed=followed)
    cluster = Cluster(board, {("gpu01", "stop"): {"changed": False, "status": ended}})
    cluster.phases.finish(1.0)
    assert cluster.of("follow") == asked
    assert board.status("gpu01")["status"] == "stopped"
    assert not board.status("gpu01")["following"]["interrupted"]


ECC = {"class": "gpu_ecc", "blame": 10, "echo": False, "line": "an ECC error", "remedy": "drain it", "step": 99}
ANSWER_OF_STOPPED = node_answers.answer("stopped", ended_at=1010.0, log_bytes=900)


def block(*steps: int) -> dict[str, t.Any]:
    return {"attempt": 1, "steps": list(steps), "steps_total": 400, "metrics": {"loss": [4.0] * len(steps)}}


def test_what_a_training_printed_after_its_controller_had_gone_is_read_when_it_is_stopped(board):
    # Somebody wants those who follow to stop it; nobody does, and its log is longer than one answer.
    board.request_stop()
    for node in NODES:
        board.update(node, status="running", last_step=11, steps_total=400, log_bytes=400)
    more = [
        {**ANSWER_OF_STOPPED, "status": "running", "blocks": [block(11, 12)]},
        {**ANSWER_OF_STOPPED, "blocks": [block(98, 99)], "failures": [ECC], "failures_at_end": [ECC]},
    ]
    stop = {(node, "stop"): {"changed": True, "status": "stopped"} for node in NODES}
    follow = {(node, "follow"): dict(ANSWER_OF_STOPPED) for node in NODES}
    cluster = Cluster(board, {**stop, **follow, ("gpu01", "follow"): lambda: more.pop(0)})
    assert cluster.phases.finish(1.0).problems == []
    status = board.status("gpu01")
    assert (status["status"], status["following"]["interrupted"]) == ("stopped", True)
    assert (status["steps"]["last_step"], status["log"]["failures"]) == (99, [ECC])
    assert not any("start" in needs for needs in cluster.needs)


def test_a_node_whose_run_folder_is_gone_is_stopped_all_the_same(board):
    board.update("gpu01", status="running")
    gone = RunGoneError(problems=[problem("run_folder_gone", path="/logs/run-5/gpu01")])
    cluster = Cluster(board, {("gpu01", "stop"): {"changed": True, "status": "stopped"}, ("gpu01", "follow"): gone})
    assert cluster.phases.finish(1.0).problems == []
    assert (board.status("gpu01")["status"], board.status("gpu01")["unfit"]) == ("stopped", False)


def test_a_node_that_was_followed_until_another_failed_is_not_read_again(board):
    cluster = Cluster(board, {("gpu00", "follow"): node_answers.answer("killed", changed=True)})
    running = node_answers.answer("running", changed=True)
    cluster.given |= {(node, "follow"): running for node in NODES[1:]}
    cluster.given |= {(node, "stop"): {"changed": True, "status": "stopped"} for node in NODES[1:]}
    cluster.phases.stage(lambda _node: {})
    cluster.phases.train(PATIENCE, 1.0)
    assert [board.status(node)["following"]["followed"] for node in NODES] == [False, True, True]
    asked = len(cluster.of("follow"))
    cluster.phases.finish(1.0)
    assert len(cluster.of("follow")) == asked
    cluster.phases.stage(lambda _node: {})
    assert [board.status(node)["following"]["followed"] for node in NODES] == [False] * 3


def test_a_log_is_collected_where_the_training_could_not_be_stopped_and_that_is_a_problem(board):
    board.update("gpu01", status="running")
    cluster = Cluster(board, {("gpu01", "stop"): NodeError("the docker daemon does not answer")})
    assert cluster.phases.finish(1.0).problems == ["gpu01: the docker daemon does not answer"]
    assert board.log_path("gpu01").read_bytes() == LOG
    assert board.status("gpu01")["message"] == "the docker daemon does not answer"


def test_a_bug_is_raised_and_no_problem_of_a_node():
    with pytest.raises(ZeroDivisionError):
        on_each(NODES, lambda _node: 1 / 0, 2)


def test_no_more_nodes_are_asked_at_once_than_may_be():
    busy, most = [], []
    lock = threading.Lock()

    def work(node: str) -> str:
        with lock:
            busy.append(node)
            most.append(len(busy))
        with lock:
            busy.remove(node)
        return node

    results, errors = on_each([f"gpu{number}" for number in range(50)], work, 3)
    assert list(results) == [f"gpu{number}" for number in range(50)]
    assert not errors
    assert max(most) <= 3


@pytest.mark.parametrize("phase", ["train", "finish"])
def test_a_node_whose_connection_holds_and_that_says_nothing_keeps_no_other_from_its_end(board, phase):
    silent, error = threading.Event(), NodeEndedError("nothing has come over it")

    def says_nothing():
        silent.wait(60)
        raise error

    asked = {"train": "follow", "finish": "stop"}[phase]
    cluster = Cluster(board, {("gpu01", asked): says_nothing})
    cluster.phases.stage(lambda _node: {})
    late = iter([{"gpu01": error}])
    cluster.phases.late = lambda: next(late, {})
    outcome = cluster.phases.train(PATIENCE, 1.0) if phase == "train" else cluster.phases.finish(1.0)
    silent.set()
    assert outcome.problems == ([] if phase == "train" else ["gpu01: nothing has come over it"])
    assert cluster.of(asked) == NODES
    assert (board.status("gpu01")["status"], board.status("gpu01")["message"]) == (
        "unreachable",
        "nothing has come over it",
    )
    assert board.status("gpu02")["status"] == "exited"
