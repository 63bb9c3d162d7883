from __future__ import annotations

import itertools
import threading
import time
import typing as t

import pytest
from node_answers import answer

from ansible_collections.trainops.cluster.plugins.module_utils.logs.rows import rows_of
from ansible_collections.trainops.cluster.plugins.module_utils.node.phase import NodeError, RunGoneError
from ansible_collections.trainops.cluster.plugins.module_utils.node.problems import problem
from ansible_collections.trainops.cluster.plugins.plugin_utils.run import follow as follow_module
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.answers import BadAnswerError
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.follow import (
    Follower,
    Patience,
    interval_for,
    seconds_to_next_sample,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.news import News
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.node_errors import NodeEndedError, NodeLostError

PATIENCE = Patience(interval=1.5, lost=3600, stall=3600)
NODES = ["gpu00", "gpu01"]


def plan(mode: str = "multi_node") -> dict[str, t.Any]:
    return {"mode": mode, "first_step": 1, "nodes": [{"node": node} for node in NODES]}


def block(steps: list[int], **metrics: list[float]) -> dict[str, t.Any]:
    return {"attempt": 1, "steps": steps, "steps_total": 9, "metrics": metrics}


def failure(failure_class: str) -> dict[str, t.Any]:
    echo = failure_class == "peer_died"
    return {"class": failure_class, "blame": 40, "echo": echo, "line": "", "remedy": "", "severity": None}


class Node:
    """The far end of following: it gives one prepared answer after the other, and keeps the requests."""

    def __init__(self, *answers: dict[str, t.Any] | Exception | t.Callable[[], dict[str, t.Any]]) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, t.Any]] = []

    def ask(self, request: dict[str, t.Any]) -> dict[str, t.Any]:
        self.asked.append(request)
        given = self.answers.pop(0)
        if isinstance(given, Exception):
            raise given
        return given() if callable(given) else given


@pytest.fixture
def board(tmp_path):
    return Board(tmp_path)


def follow(
    node: Node,
    board: Board,
    mode: str = "multi_node",
    patience: Patience = PATIENCE,
    news: News | None = None,
    name: str = "gpu00",
) -> dict[str, t.Any]:
    return Follower(node.ask, board, plan(mode), name, patience, news or News()).follow()


def news_of_a_failure() -> News:
    news = News()
    news.note(failed=True)
    return news


ENDED = answer("exited", exit_status=0, ended_at=1010.0, last_lines=["the end"])


def test_what_a_node_answers_stands_on_the_board(board):
    node = Node(
        answer(blocks=[block([1, 2], loss=[3.0, 2.0])], log_bytes=200),
        answer(
            "exited",
            exit_status=3,
            oom_killed=True,
            blocks=[block([3], loss=[1.0])],
            log_bytes=300,
            last_lines=["the end"],
        ),
    )
    status = follow(node, board)
    assert status == board.status("gpu00")
    process, steps = status["process"], status["steps"]
    assert (status["status"], process["exit_status"], process["oom_killed"]) == ("exited", 3, True)
    assert status["log"]["last_lines"] == ["the end"]
    assert (steps["last_step"], steps["steps_total"], steps["metrics"]) == (3, 9, {"loss": 1.0})
    assert [row["step"] for row in rows_of(board.blocks("gpu00"))] == [1, 2, 3]


def test_networks_and_world_size_stand_on_the_board_as_last_told(board):
    told = [
        answer(transports=["NET/IB"], world_size=16),
        {**ENDED, "transports": ["NET/IB", "NET/OFI"], "world_size": 16},
    ]
    for _ in range(2):
        status = follow(Node(*told), board)
        assert (status["trainer"]["transports"], status["trainer"]["world_size"]) == (["NET/IB", "NET/OFI"], 16)


@pytest.mark.parametrize("memory", [{}, {"new_process": True}])
def test_it_stands_on_the_board_that_a_process_began_behind_the_last_step(memory, board):
    status = follow(Node({**ENDED, "cursor": {"offset": 9, "step": 4, "memory": memory}}), board)
    assert status["steps"]["began_anew"] is bool(memory)


def test_it_stands_on_the_board_what_failed_behind_the_last_step(board):
    assert "failures_at_end" not in follow(Node(ENDED), board)
    assert follow(Node({**ENDED, "failures_at_end": [failure("gpu_hang")]}), board)["log"]["failures_at_end"] == [
        failure("gpu_hang")
    ]


def test_each_question_begins_where_the_last_answer_ended(board):
    cursors = [{"offset": 7, "step": 3, "memory": {}}, {"offset": 9, "step": 4, "memory": {}}]
    node = Node(*(answer(cursor=cursor, log_bytes=cursor["offset"]) for cursor in cursors), ENDED)
    follow(node, board)
    assert [request["cursor"] for request in node.asked] == [{}, *cursors]
    first, *later = node.asked
    assert (first["start"], first["wait_seconds"]) == (True, 2.0)
    assert {(request.get("start"), request["wait_seconds"]) for request in later} == {(None, 1.5)}


@pytest.mark.parametrize("ahead", [-3600.0, 0.0, 120.0])
def test_times_are_those_of_the_controllers_clock(board, ahead):
    now = time.time()
    on_the_node = now + ahead
    ended = answer("exited", exit_status=0, started_at=on_the_node - 50, ended_at=on_the_node - 1, now=on_the_node)
    status = follow(Node(ended), board)
    assert status["process"]["started_at"] == pytest.approx(now - 50, abs=20)
    assert status["process"]["ended_at"] == pytest.approx(now - 1, abs=20)
    assert status["process"]["ended_at"] - status["process"]["started_at"] == pytest.approx(49)


def test_times_that_are_known_stay_as_they_are_however_often_a_run_is_followed(board):
    first = follow(Node(answer("exited", exit_status=0, ended_at=1005.0)), board)
    again = follow(Node(answer("exited", exit_status=0, ended_at=1005.0, now=1010.5)), board)
    assert again["process"] == first["process"]


def test_a_node_that_was_given_up_and_answers_again_has_not_ended(board):
    lost = follow(Node(answer(), NodeLostError("")), board, patience=Patience(interval=1, lost=0, stall=3600))
    statuses = []
    again = [answer(log_bytes=5), lambda: statuses.append(board.status("gpu00")) or ENDED]
    status = follow(Node(*again), board)
    assert (statuses[0]["status"], statuses[0]["process"]["ended_at"]) == ("running", None)
    assert (status["process"]["started_at"], status["status"]) == (lost["process"]["started_at"], "exited")
    assert status["process"]["ended_at"] >= lost["process"]["ended_at"]


@pytest.mark.parametrize("end", ["exited", "killed", "stopped"])
def test_following_ends_with_the_training(board, end):
    assert follow(Node(answer(end)), board)["status"] == end


@pytest.mark.parametrize(
    ("statuses", "interrupted"),
    [(["running", "stopped"], True), (["running", "exited"], False), (["stopped"], False)],
    ids=["another command stopped it", "it ended", "it was stopped before it was followed"],
)
def test_a_stop_while_a_node_is_followed_interrupts_the_run(statuses, interrupted, board):
    assert follow(Node(*map(answer, statuses)), board)["following"]["interrupted"] is interrupted
    assert follow(Node(answer(statuses[-1])), board)["following"]["interrupted"] is interrupted


def test_where_a_peer_failed_a_training_that_has_ended_is_read_to_the_end_of_its_long_log(board):
    node = Node(answer(), answer(has_ended=True), answer(has_ended=True), ENDED)
    assert follow(node, board, news=news_of_a_failure())["process"]["exit_status"] == 0


def test_where_a_peer_failed_a_node_that_never_tells_the_end_is_not_followed_for_ever(board):
    node = Node(answer(), answer(has_ended=True), ENDED)
    patience = Patience(interval=1, lost=0, stall=3600)
    assert follow(node, board, patience=patience, news=news_of_a_failure())["status"] == "running"


def test_a_node_that_is_lost_for_too_long_is_unreachable_since_it_was_heard_last(board):
    before = time.time()
    node = Node(answer(), NodeLostError("Connection timed out"))
    status = follow(node, board, patience=Patience(interval=1, lost=0, stall=3600))
    assert (status["status"], status["message"]) == ("unreachable", "Connection timed out")
    assert before <= status["process"]["ended_at"] <= time.time()


def test_a_node_that_will_not_answer_any_more_is_unreachable_at_once(board):
    status = follow(Node(answer(), NodeEndedError("Slurm's job 7 ended as TIMEOUT"), ENDED), board)
    assert (status["status"], status["message"]) == ("unreachable", "Slurm's job 7 ended as TIMEOUT")


def test_a_node_that_answers_again_in_time_is_followed_on(board):
    status = follow(Node(NodeLostError("Connection timed out"), ENDED), board)
    assert (status["status"], status["process"]["exit_status"]) == ("exited", 0)


def test_for_how_long_a_node_that_came_back_did_not_answer_stands_on_the_board(board, monkeypatch):
    monkeypatch.setattr(follow_module.time, "sleep", lambda _seconds: None)
    # The machine's own clock may be set back meanwhile.
    clock = itertools.count(1_750_000_000)
    monkeypatch.setattr(follow_module.time, "time", lambda: float(next(clock)))
    lost = NodeLostError("Connection timed out")
    status = follow(Node(answer(), lost, lost, answer(), lost, ENDED), board)
    assert [outage["seconds"] >= 0 for outage in status["following"]["outages"]] == [True, True]
    assert status["following"]["outages"][0]["since"] <= status["following"]["outages"][1]["since"] <= time.time()
    assert "outages" not in follow(Node(answer(), ENDED), board, name="gpu01")


class Looked:
    """A node that has answered once and is silent since, with the error of its last answer, if it has one."""

    def __init__(self, board: Board, news: News, error: NodeError | None = None, started: bool = True) -> None:
        self.silent, self.goes_on = threading.Event(), threading.Event()
        answers = [answer()] if started else []
        errors = [error] if error else []
        self.follower = Follower(
            Node(*answers, *errors, self._wait, ENDED).ask, board, plan(), "gpu00", self.PATIENCE, news
        )
        self.thread = threading.Thread(target=self.follower.follow)
        self.thread.start()
        assert self.silent.wait(30)

    # An answer is due after one second.
    PATIENCE = Patience(interval=1, lost=60, stall=3600, silent=8)

    def _wait(self) -> dict[str, t.Any]:
        self.silent.set()
        assert self.goes_on.wait(30)
        return answer()

    def look(self, seconds: int) -> list[str]:
        """Return the statuses that looking at the node once a second gave."""
        found = [self.follower.look() for _second in range(seconds)]
        return [status["status"] for status in found if status]

    def end(self) -> None:
        self.goes_on.set()
        self.thread.join(30)


LOST = NodeLostError("Connection timed out")


@pytest.mark.parametrize("error", [None, LOST])
def test_a_silent_node_is_said_to_be_so_until_it_answers(board, error):
    news = News()
    node = Looked(board, news, error)
    assert node.look(8) == []
    assert board.status("gpu00")["following"]["silent_since"] is None
    assert node.look(50) == []
    assert board.status("gpu00")["following"]["silent_since"] <= time.time()
    # While its connection stands, its answer may only be slow.
    assert news.others_are_silent("gpu01") is (error is not None)
    assert not news.others_are_silent("gpu00")
    node.end()
    status = board.status("gpu00")
    assert (status["status"], status["following"]["silent_since"]) == ("exited", None)
    assert len(status["following"]["outages"]) == 1
    assert not news.others_are_silent("gpu01")


def test_a_node_that_has_not_begun_is_not_silent(board):
    node = Looked(board, News(), started=False)
    assert node.look(3600) == []
    assert board.status("gpu00")["following"]["silent_since"] is None
    node.end()


def test_a_node_that_is_no_longer_followed_is_not_silent(board):
    follower = Follower(Node(answer(), ENDED).ask, board, plan(), "gpu00", PATIENCE, News())
    follower.follow()
    assert [follower.look() for _second in range(60)] == [None] * 60
    assert board.status("gpu00")["following"]["silent_since"] is None


def test_a_node_that_is_lost_is_given_up_once_a_peer_has_failed_and_what_it_answers_then_is_late(board):
    news = News()
    node = Looked(board, news, LOST)
    news.note(failed=True)
    assert node.look(8) == []
    assert node.look(1) == ["unreachable"]
    assert board.status("gpu00")["message"] == "Connection timed out"
    assert node.look(10) == []
    node.end()
    assert board.status("gpu00")["status"] == "unreachable"


def test_a_slow_answer_over_a_connection_that_stands_is_waited_for_although_a_peer_has_failed(board):
    news = News()
    node = Looked(board, news)
    news.note(failed=True)
    assert node.look(3600) == []
    node.end()
    assert board.status("gpu00")["status"] != "unreachable"


def test_a_node_to_which_no_connection_can_be_made_is_given_up_in_time_whatever_its_last_try_does(board):
    node = Looked(board, News(), LOST)
    assert node.look(60) == []
    assert node.look(1) == ["unreachable"]
    node.end()


@pytest.mark.parametrize(
    ("failures", "silent", "failed"),
    [
        (["peer_died"], True, True),
        (["peer_died"], False, False),
        ([], True, False),
        # It is no sign of another process.
        (["host_oom"], True, False),
    ],
)
def test_the_log_of_a_peer_proves_that_a_silent_node_is_gone(board, failures, silent, failed):
    news = News()
    news.note_silence("gpu01", silent=silent)
    follow(Node(answer(failures=[failure(name) for name in failures]), ENDED), board, news=news)
    assert news.failed is failed


def test_a_run_folder_that_was_removed_is_given_up_at_once_and_ends_the_others(board):
    news = News()
    status = follow(Node(answer(), RunGoneError("the run's folder /logs/r/a is gone")), board, news=news)
    assert (status["status"], status["message"]) == ("gone", "the run's folder /logs/r/a is gone")
    assert news.failed


def test_what_happened_to_a_log_stays_on_the_board(board):
    cut = answer(log_problem="train.log was truncated or replaced: it has 0 bytes, but 7 had been read")
    assert "7 had been read" in follow(Node(cut, answer(), ENDED), board)["log"]["problem"]


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("metrics", "told"),
    [
        ({"loss": [2.0, NAN]}, problem("loss_not_finite", loss="nan", step=2)),
        ({"loss": [-INFINITE, 1.0]}, problem("loss_not_finite", loss="-inf", step=1)),
        ({"loss": [2.0, 1.0], "nan_iterations": [0.0, 1.0]}, problem("nan_iteration", step=2)),
        ({"loss": [2.0, NAN], "skipped_iterations": [0.0, 1.0]}, None),
        ({"loss": [2.0, 1.0], "grad_norm": [NAN, 1.0]}, None),
    ],
)
@pytest.mark.parametrize("asked", [True, False])
def test_a_loss_that_is_not_finite_ends_the_run_where_that_is_asked_for(board, metrics, told, asked):
    news, steps = News(), answer(blocks=[block([1, 2], **metrics)])
    given = {**plan(), **({"abort_on_nan": True} if asked else {})}
    status = Follower(Node(steps, ENDED).ask, board, given, "gpu00", PATIENCE, news).follow()
    if asked and told:
        assert (status["status"], news.failed) == ("running", True)
        assert board.status("gpu00")["problems"] == [told]
    else:
        assert status["status"] == "exited"


def test_a_log_that_no_longer_grows_is_a_stall(board):
    seen = [{"rank": 0, "state": "S", "waits_in": None, "busy": 0.0, "stack": None}]
    node = Node(answer(log_bytes=10), answer(log_bytes=11), answer(log_bytes=11), answer(log_bytes=11, ranks_seen=seen))
    status = follow(node, board, "single_node", Patience(interval=1, lost=3600, stall=0))
    assert (status["status"], [one["code"] for one in status["problems"]]) == ("stalled", ["log_silent"])
    assert [request.get("look_at_ranks") for request in node.asked] == [None, None, None, True]
    assert board.status("gpu00")["hang"]["ranks"] == seen


def test_a_log_that_is_still_being_read_is_no_stall(board):
    def behind(offset: int) -> dict[str, t.Any]:
        return answer(log_bytes=99, cursor={"offset": offset, "step": None, "memory": {}})

    node = Node(*map(behind, (10, 20, 30, 40)), ENDED)
    status = follow(node, board, "single_node", Patience(interval=1, lost=3600, stall=0))
    assert status["status"] == "exited"
    node = Node(*map(behind, (10, 20, 20, 20)))
    assert follow(node, board, "single_node", Patience(interval=1, lost=3600, stall=0))["status"] == "stalled"
    assert board.status("gpu00")["log"]["unread"] == 79


def test_a_node_that_has_ended_does_not_hang_while_its_log_is_read(board):
    news = News()
    news.note(failed=True, hangs=True)
    rest = answer(has_ended=True, log_bytes=99)
    node = Node(rest, rest, ENDED)
    assert follow(node, board, news=news)["status"] == "exited"
    assert [request.get("look_at_ranks") for request in node.asked] == [True, None, None]


def test_what_the_flight_recorder_of_a_failed_training_says_is_on_the_board(board):
    recorded = [{"rank": 0, "file": "/logs/nccl_trace_rank_0", "groups": []}]
    follow(Node(answer(status="exited", has_ended=True, exit_status=1, recorded=recorded)), board)
    assert board.status("gpu00")["hang"]["recorded"] == recorded


@pytest.mark.parametrize("away", ["this process", "another node"])
def test_what_no_answer_tells_of_a_log_is_no_silence(away, board, monkeypatch):
    now, news = [1000.0], News()
    monkeypatch.setattr(follow_module.time, "monotonic", lambda: now[0])
    news.grown = now[0]

    def later() -> dict[str, t.Any]:
        now[0] += 600
        return answer(log_bytes=10)

    if away == "another node":
        news.note_pace("gpu01", 60, False, now[0])
    node = Node(answer(log_bytes=10), *[later] * (1 if away == "this process" else 3), ENDED)
    assert follow(node, board, patience=Patience(interval=1, lost=3600, stall=60), news=news)["status"] == "exited"
    assert not news.hangs


def test_where_a_run_hangs_each_node_is_looked_at(board):
    news = News()
    news.note(failed=True, hangs=True)
    node = Node(answer(log_bytes=10))
    assert follow(node, board, news=news)["status"] == "stalled"
    assert node.asked[0]["look_at_ranks"] is True


def test_the_pace_of_the_steps_says_how_long_is_too_long_unless_the_trainer_pauses(board):
    steps = block(list(range(1, 9)), step_time_ms=[500.0] * 8)
    news = News()
    follow(Node(answer(blocks=[steps]), ENDED), board, news=news)
    assert news.longest_silence() == 60
    follow(Node(answer(), ENDED), board, news=news, name="gpu01")
    assert news.longest_silence() == 60
    follow(Node(answer(), {**ENDED, "pausing": True}), board, news=news, name="gpu01")
    assert news.longest_silence() == PATIENCE.stall


def test_the_accelerators_are_sampled_at_first_and_then_at_a_low_rate(board):
    reading = {"temperature": 50.0, "power": 300.0, "clock": 2100.0, "ecc_uncorrected": 0.0}
    node = Node(answer(readings=[reading]), answer(), ENDED)
    follow(node, board)
    assert [request.get("sample") for request in node.asked] == [True, None, None]
    assert [sample["accelerators"] for sample in board.samples("gpu00")] == [[reading]]


def test_what_the_rdma_ports_moved_is_kept_as_it_was_last_heard(board):
    first, last = ({"mlx5_0/1": {"sent": sent, "received": sent}} for sent in (5, 9))
    status = follow(Node(answer(traffic=first), answer(), {**ENDED, "traffic": last}), board)
    assert status["machine"]["traffic"] == last


@pytest.mark.parametrize("by_clock", [600.0, 100.0])
def test_a_run_takes_as_long_as_it_ran_though_its_nodes_clock_was_set_back(board, by_clock):
    end = 1000.0 + by_clock
    process = follow(Node({**ENDED, "ended_at": end, "now": end, "ran_seconds": 600.0}), board)["process"]
    assert process["ended_at"] - process["started_at"] == pytest.approx(600.0, abs=1.0)
    assert (process["clock_seconds"], process["ran_seconds"]) == (by_clock, 600.0)


def test_it_stands_on_the_board_at_which_step_the_counters_were_read(board):
    follow(Node(answer(traffic={}), answer(blocks=[block([1, 2])]), answer(traffic={}), ENDED), board)
    assert board.status("gpu00")["machine"]["traffic_step"] == 2


def test_counters_that_were_read_before_the_steps_are_of_no_step(board):
    follow(Node(answer(traffic={}), {**ENDED, "blocks": [block([1, 2])]}), board)
    assert board.status("gpu00")["machine"]["traffic_step"] is None


@pytest.mark.parametrize(
    ("interval", "followed", "wait"), [(1.0, 2.0, 1.0), (1.0, 20.0, 2.0), (1.0, 3600.0, 3.0), (8.0, 3600.0, 8.0)]
)
def test_a_long_run_is_asked_less_often(interval, followed, wait):
    assert follow_module.seconds_to_next_answer(interval, followed) == wait


def test_of_a_week_not_much_more_samples_are_kept_than_of_a_day():
    counts, followed = [], 0.0
    for days in (1, 7):
        while followed < days * 86400:
            counts.append(followed)
            followed += seconds_to_next_sample(followed)
        assert len(counts) < {1: 1000, 7: 1500}[days]
    assert counts[:3] == [0.0, 15.0, 30.0]


def test_a_silent_node_is_no_stall_while_the_log_of_another_grows(board):
    news = News()

    def while_the_other_prints() -> dict[str, t.Any]:
        news.note(grown=time.monotonic() + 3600)
        return answer(log_bytes=10)

    node = Node(answer(log_bytes=10), *[while_the_other_prints] * 3, ENDED)
    assert follow(node, board, patience=Patience(interval=1, lost=3600, stall=0), news=news)["status"] == "exited"
    silent = Node(*[answer(log_bytes=10)] * 3)
    status = follow(silent, board, patience=Patience(interval=1, lost=3600, stall=0))
    assert (status["status"], [one["code"] for one in status["problems"]]) == ("stalled", ["run_silent"])


@pytest.mark.parametrize(
    "failed",
    [
        {"status": "exited", "exit_status": 1},
        {
            "status": "exited",
            "exit_status": 0,
            "blocks": [{"attempt": 1, "steps": [3], "steps_total": 9, "metrics": {}}],
        },
        {"status": "killed"},
        {"status": "unreachable"},
        {"status": "stopped"},
    ],
)
def test_the_failure_or_stop_of_another_node_ends_a_multi_node_run_with_one_more_look_at_the_log(board, failed):
    news = News()
    follow(
        Node(answer(**failed) if failed["status"] != "unreachable" else BadAnswerError("")),
        board,
        news=news,
        name="gpu01",
    )
    node = Node(answer(log_bytes=10), answer(log_bytes=90, failures=[failure("out_of_memory")]))
    status = follow(node, board, news=news)
    assert status["status"] == "running"
    assert [found["class"] for found in status["log"]["failures"]] == ["out_of_memory"]
    assert node.answers == []
    # It need not wait as long as while all goes well.
    assert [request["wait_seconds"] for request in node.asked] == [2.0, 1.0]


def test_the_last_look_tells_a_node_that_failed_as_well(board):
    status = follow(Node(answer(), answer("exited", exit_status=1)), board, news=news_of_a_failure())
    assert (status["status"], status["process"]["exit_status"]) == ("exited", 1)


def test_a_lost_node_is_waited_for_even_where_another_failed_as_it_may_be_the_cause(board):
    node = Node(answer(), NodeLostError("Connection timed out"))
    patience = Patience(interval=1, lost=0, stall=3600)
    assert follow(node, board, patience=patience, news=news_of_a_failure())["status"] == "unreachable"


def test_a_node_that_has_ended_well_ends_no_other(board):
    news = News()
    follow(Node(ENDED), board, news=news, name="gpu01")
    assert follow(Node(answer(log_bytes=1), answer(log_bytes=2), ENDED), board, news=news)["status"] == "exited"


def test_a_failure_text_is_forgotten_when_the_training_goes_on(board):
    goes_on = [answer(blocks=[block([number])], log_bytes=number) for number in range(1, 5)]
    goes_on[0]["failures"] = [failure("import_error")]
    last = answer("exited", exit_status=1, failures=[failure("python_error")], log_bytes=9)
    status = follow(Node(*goes_on, last), board)
    assert [found["class"] for found in status["log"]["failures"]] == ["python_error"]


def test_a_failure_text_stays_while_the_steps_may_be_from_before_it(board):
    answers = [
        answer(failures=[failure("gpu_hang")]),
        *(answer(blocks=[block([n])], log_bytes=n) for n in (1, 2)),
        ENDED,
    ]
    assert [found["class"] for found in follow(Node(*answers), board)["log"]["failures"]] == ["gpu_hang"]


def test_a_failure_text_on_a_silent_node_is_forgotten_when_the_steps_of_another_go_on(board):
    news = News()

    def while_the_other_trains(*failures: str) -> t.Callable[[], dict[str, t.Any]]:
        def give() -> dict[str, t.Any]:
            news.note(advanced=True)
            return answer(failures=[failure(name) for name in failures])

        return give

    node = Node(while_the_other_trains("import_error"), *[while_the_other_trains()] * 2, ENDED)
    assert follow(node, board, news=news)["log"]["failures"] == []


def test_a_failure_text_stays_while_the_training_does_not_go_on(board):
    silent = [answer(log_bytes=number) for number in range(1, 9)]
    silent[0]["failures"] = [failure("gpu_hang")]
    assert [found["class"] for found in follow(Node(*silent, ENDED), board)["log"]["failures"]] == ["gpu_hang"]


def test_more_nodes_are_asked_less_often():
    assert [interval_for(count) for count in (1, 32, 64, 128)] == [1.0, 1.0, 2.0, 4.0]


def test_a_node_that_was_seen_to_run_has_not_ended_before(board):
    before = time.time()
    status = follow(Node(answer(), answer("exited", exit_status=1, started_at=1.0, ended_at=2.0, now=1010.0)), board)
    assert before <= status["process"]["ended_at"] <= time.time()


def test_a_node_does_not_end_in_the_future(board):
    status = follow(Node(answer("exited", exit_status=1, ended_at=9e9, now=1010.0)), board)
    assert status["process"]["ended_at"] <= time.time()
