# SPDX-License-Identifier: GPL-3.0-or-later
"""The trend of a loss."""

from __future__ import annotations

import numpy as np
import pytest
from noise import correlated

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
        # It ends where it began.
        (9 + 2 * np.sin(np.pi * np.arange(60) / 60) + NOISE / 5, "flat"),
        (FALLING[:10], "falling"),
        # One batch, again and again.
        ([12.0, 11.7, 10.9, 9.6, 7.5, 5.0, 2.8, 1.2, 0.5, 0.2, 0.09, 0.05, 0.03, 0.02, 0.01, *[0.001] * 5], "falling"),
        ([11.5, 11.2, 3.0, 0.2, 0.001, *[0.0] * 25], "falling"),
        # It falls fast, and hardly at all then.
        (7.5 + 4.5 * np.exp(-np.arange(60) / 6) + NOISE, "falling"),
        (7.5 + 4.5 * np.exp(-np.arange(60) / 6) + 0.02 * np.arange(60) + NOISE, "flat"),
        # It is flat after a first fall, however certain that was.
        ([*np.linspace(11.5, 9.7, 6), *(9.5 + NOISE[:34] / 2)], "flat"),
        (4 + 30 * NOISE, "flat"),
        (FALLING[::-1] + NOISE, "rising"),
        (4 + NOISE, "flat"),
        (np.full(30, 4.0), "flat"),
        # A certain but negligible change is not a rise.
        (4 + np.arange(60) * 1e-5, "flat"),
        (FALLING[:7], "unknown"),
        ([], "unknown"),
    ],
    ids=[
        "falls",
        "ends where it began",
        "falls in 10",
        "one batch",
        "one small batch",
        "falls fast",
        "falls fast and rises",
        "stalls",
        "wild",
        "rises",
        "noise",
        "constant",
        "hardly rises",
        "7 losses",
        "none",
    ],
)
def test_the_direction_is_told_by_how_the_loss_ends(losses: np.ndarray, direction: str) -> None:
    assert trend(losses)["direction"] == direction


def test_wild_values_before_the_end_do_not_turn_it() -> None:
    losses = FALLING + NOISE
    losses[0], losses[30] = 90.0, 20.0
    assert trend(losses)["direction"] == "falling"


def test_the_change_comes_with_its_interval_and_what_it_rests_on() -> None:
    found = trend(10 - 0.1 * np.arange(20))
    assert found["change"] == pytest.approx(8.25 / 9.25 - 1)
    assert found["interval"] == pytest.approx({"low": found["change"], "high": found["change"]})
    assert (found["end"], found["lowest"]) == (pytest.approx(8.25), pytest.approx(8.25))
    assert (found["samples"], found["first_step"], found["last_step"]) == (20, 1, 20)
    assert (found["first_loss"], found["last_loss"]) == (10.0, pytest.approx(8.1))


def test_long_runs_are_looked_at_in_groups_and_tell_the_same() -> None:
    steps = np.arange(5000)
    found = loss_trend(steps, 10 - 0.001 * steps)
    assert (found["direction"], found["change"], found["samples"]) == (
        "falling",
        pytest.approx(-0.31, abs=1e-3),
        5000,
    )


@pytest.mark.parametrize("steps", [40, 60, 4000])
def test_a_loss_that_climbs_late_is_seen_though_it_fell_in_all(steps: int) -> None:
    part = np.arange(steps) / steps
    losses = (7 + 4 * np.exp(-4 * part)) * (1 + np.maximum(0, part - 0.85)) + 0.05 * correlated(1, steps, 0.5)[0]
    found = trend(losses)
    assert found["direction"] == "falling"
    assert found["climb"]["end"] > 1.03 * found["climb"]["before"]
    assert 3 <= found["climb"]["losses"] <= steps / 5
    assert found["climb"]["end"] == pytest.approx(losses[-found["climb"]["losses"] :].mean())


def test_one_last_loss_that_is_off_is_no_climb() -> None:
    losses = FALLING + NOISE
    losses[-1] *= 1.4
    assert trend(losses)["climb"] is None


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("size", [20, 30, 200])
def test_a_flat_loss_is_rarely_said_to_fall_or_to_rise(size: int, rho: float) -> None:
    """The slope of all steps did so for every second series of rho 0.9."""
    series = 4 + 0.08 * correlated(200, size, rho)
    found = [trend(losses) for losses in series]
    assert [one["direction"] for one in found].count("flat") >= 0.92 * 200
    assert sum(one["climb"] is not None for one in found) <= 0.04 * 200
