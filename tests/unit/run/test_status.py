"""The parts of a node's status, and their meaning."""

from __future__ import annotations

import math
import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.contracts import Status
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.status import has_failed, status_of, stops_short


def status_with(**known: t.Any) -> Status:
    return status_of({"node": "gpu00", **known})


def test_what_is_missing_is_not_known() -> None:
    status = status_with()
    assert (status["status"], status["message"], status["problems"]) == ("not_started", "", [])
    assert status["process"]["exit_status"] is status["steps"]["last_step"] is status["machine"]["hardware"] is None
    # If nobody has looked for failures there, that proves none.
    assert (status["log"]["failures"], status["log"]["failures_at_end"]) == ([], None)
    assert status_with(failures_at_end=[])["log"]["failures_at_end"] == []


def test_what_every_release_writes_is_found_in_its_part() -> None:
    written = {
        "node": "gpu00",
        "status": "exited",
        "program": None,
        "exit_status": 137,
        "log_bytes": 8192,
        "last_step": 7,
        "steps_total": 10,
        "settings": {"steps_per_line": [10.0]},
        "machine_changes": None,
        "ranks_seen": [],
        "interrupted": True,
        "of_a_later_release": 1,
    }
    status = status_of(written)
    assert (status["process"]["exit_status"], status["log"]["bytes"], status["steps"]["last_step"]) == (137, 8192, 7)
    assert (status["steps"]["interval"], status["following"]["interrupted"]) == (10, True)


@pytest.mark.parametrize("said", [math.nan, math.inf, -math.inf])
def test_a_trainer_whose_lines_are_no_number_of_steps_apart_says_no_interval(said: float) -> None:
    assert status_with(settings={"steps_per_line": [said]})["steps"]["interval"] is None


@pytest.mark.parametrize(
    ("known", "failed"),
    [
        ({"status": "not_started"}, False),
        ({"status": "staged"}, False),
        ({"status": "running"}, False),
        ({"status": "stopped"}, False),
        ({"status": "killed"}, True),
        ({"status": "stalled"}, True),
        ({"status": "unreachable"}, True),
        ({"status": "exited", "exit_status": 1}, True),
        ({"status": "exited"}, True),
        ({"status": "exited", "exit_status": 0}, False),
        ({"status": "exited", "exit_status": 0, "first_step": 1, "last_step": 10, "steps_total": 10}, False),
        ({"status": "exited", "exit_status": 0, "first_step": 1, "last_step": 9, "steps_total": 10}, True),
        ({"status": "running", "last_step": 9, "steps_total": 10}, False),
    ],
)
def test_a_node_fails_by_itself_or_not_at_all(known: dict[str, t.Any], failed: bool) -> None:
    assert has_failed(status_with(**known)) is failed


def is_short(**known: t.Any) -> bool:
    status = status_with(**known)
    return stops_short(status["log"], status["steps"])


def test_only_a_log_that_announces_its_last_step_can_stop_short_of_it() -> None:
    assert is_short(first_step=1, last_step=9, steps_total=10)
    assert not is_short(last_step=9, steps_total=None)
    assert not is_short(first_step=0, last_step=9, steps_total=10)
    assert is_short(first_step=0, last_step=8, steps_total=10)
    assert not is_short()
    assert not is_short(first_step=1, last_step=9, steps_total=10, log_problem="train.log was removed")


def test_a_last_step_that_has_no_line_is_not_missing() -> None:
    known: dict[str, t.Any] = {"first_step": 1, "steps_total": 31, "settings": {"steps_per_line": [10.0]}}
    assert not is_short(**known, last_step=30)
    assert is_short(**known, last_step=20)
