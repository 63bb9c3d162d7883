# SPDX-License-Identifier: GPL-3.0-or-later
"""The trend of a loss."""

from __future__ import annotations

import numpy as np
import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.loss_trend import loss_trend


def trend(losses: list[float] | np.ndarray) -> dict[str, object]:
    values = np.asarray(losses, dtype=float)
    return loss_trend(np.arange(1, values.size + 1), values)


NOISE = np.random.default_rng(3).normal(0, 0.05, 60)
FALLING = 8 * np.exp(-np.arange(60) / 20) + 3


@pytest.mark.parametrize(
    ("losses", "direction"),
    [
        (FALLING + NOISE, "falling"),
        (FALLING[:10], "falling"),
        (FALLING[::-1] + NOISE, "rising"),
        (4 + NOISE, "flat"),
        (np.full(30, 4.0), "flat"),
        # What is certain and next to nothing is no rise.
        (4 + np.arange(60) * 1e-5, "flat"),
        (FALLING[:7], "unknown"),
        ([], "unknown"),
    ],
    ids=["falls", "falls in 10", "rises", "noise", "constant", "hardly rises", "7 losses", "none"],
)
def test_the_direction_is_told_by_the_interval_of_the_slope(losses: np.ndarray, direction: str) -> None:
    assert trend(losses)["direction"] == direction


def test_wild_values_at_either_end_do_not_turn_it() -> None:
    losses = FALLING + NOISE
    losses[0], losses[-1], losses[30] = 0.1, 90.0, 200.0
    assert trend(losses)["direction"] == "falling"


def test_the_slope_comes_with_its_interval_and_what_it_rests_on() -> None:
    found = trend(10 - 0.1 * np.arange(20))
    assert found["slope"] == pytest.approx(-0.1)
    assert found["interval"] == pytest.approx({"low": -0.1, "high": -0.1})
    assert found["change"] == pytest.approx(-1.9 / 9.05)
    assert (found["samples"], found["first_step"], found["last_step"]) == (20, 1, 20)
    assert (found["first_loss"], found["last_loss"]) == (10.0, pytest.approx(8.1))


def test_long_runs_are_looked_at_in_groups_and_tell_the_same() -> None:
    steps = np.arange(5000)
    found = loss_trend(steps, 10 - 0.001 * steps)
    assert (found["direction"], found["slope"], found["samples"]) == ("falling", pytest.approx(-0.001), 5000)
