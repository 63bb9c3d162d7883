from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.silence import StepPace

LONGEST = 1800.0


def pace(steps: list[int], seconds: list[float]) -> StepPace:
    pace = StepPace()
    metrics = {"step_time_ms": [1000 * value for value in seconds]}
    pace.add([{"attempt": 1, "steps": steps, "steps_total": 100, "metrics": metrics}])
    return pace


@pytest.mark.parametrize(
    ("steps", "seconds", "limit"),
    [
        ([1, 2, 3, 4], [0.1] * 4, 60),
        ([1, 2, 3, 4], [7.0] * 4, 140),
        ([10, 20, 30, 40], [1.0] * 4, 200),
        ([1, 2, 3, 4], [300.0] * 4, LONGEST),
        ([1, 2], [0.1] * 2, LONGEST),
        (list(range(1, 101)), [1.0] * 94 + [5.0] * 6, 100),
    ],
    ids=["fast", "slow", "each tenth step is printed", "very slow", "few steps", "some slow steps"],
)
def test_the_limit_follows_the_gaps_between_the_lines(steps, seconds, limit):
    assert pace(steps, seconds).limit(LONGEST, pausing=False) == pytest.approx(limit)


def test_a_trainer_that_pauses_with_reason_has_all_the_time():
    assert pace([1, 2, 3, 4], [0.1] * 4).limit(LONGEST, pausing=True) == LONGEST


def test_a_limit_that_is_shorter_than_a_minute_holds():
    assert pace([1, 2, 3, 4], [0.1] * 4).limit(30.0, pausing=False) == 30
