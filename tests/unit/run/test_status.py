from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.status import has_failed, stops_short


@pytest.mark.parametrize(
    ("status", "failed"),
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
def test_a_node_fails_by_itself_or_not_at_all(status, failed):
    assert has_failed(status) is failed


def test_only_a_log_that_announces_its_last_step_can_stop_short_of_it():
    assert stops_short({"first_step": 1, "last_step": 9, "steps_total": 10})
    assert not stops_short({"last_step": 9, "steps_total": None})
    assert not stops_short({"first_step": 0, "last_step": 9, "steps_total": 10})
    assert stops_short({"first_step": 0, "last_step": 8, "steps_total": 10})
    assert not stops_short({})


def test_a_last_step_that_has_no_line_is_not_missing() -> None:
    status = {"first_step": 1, "last_step": 30, "steps_total": 31, "settings": {"steps_per_line": [10.0]}}
    assert not stops_short(status)
    assert stops_short({**status, "last_step": 20})
