# SPDX-License-Identifier: GPL-3.0-or-later
"""Losses that stand in a log twice."""

from __future__ import annotations

import numpy as np
import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.repeated_losses import (
    Repeated,
    repeated_losses,
)

NOISE = np.random.default_rng(5).normal(0, 0.02, 3000)


def falling(steps: int, digits: int) -> np.ndarray:
    return np.round(3 + 8 * np.exp(-4 * np.arange(steps) / steps) + NOISE[:steps], digits)


@pytest.mark.parametrize("digits", [2, 3, 6])
@pytest.mark.parametrize("steps", [8, 40, 400, 3000])
def test_a_loss_that_falls_repeats_nothing(steps: int, digits: int) -> None:
    assert repeated_losses(falling(steps, digits)) is None


@pytest.mark.parametrize(("steps", "first", "again"), [(40, 20, 30), (400, 20, 300), (3000, 1500, 2600)])
def test_a_stretch_that_is_copied_is_found(steps: int, first: int, again: int) -> None:
    losses = falling(steps, 6)
    losses[again : again + 6] = losses[first : first + 6]
    assert repeated_losses(losses) == Repeated(first, again, 6)


@pytest.mark.parametrize(("digits", "turns"), [(6, 3), (3, 3), (6, 8)])
def test_a_few_losses_in_turn_are_found_where_they_are_far_apart(digits: int, turns: int) -> None:
    losses = falling(60, digits)
    end = 3 * turns
    losses[-end:] = np.tile(np.round([3.41, 3.28, 3.345678], digits), turns)
    assert repeated_losses(losses) == Repeated(60 - end, 63 - end, end - 3)


@pytest.mark.parametrize(
    "losses",
    [
        [9.5] * 40,
        [9.0, 8.0, 7.0] * 13,
        [11.0, 5.0, 2.0, 0.5, 0.1, *[0.01, 0.0, 0.0] * 12],
        [11.0 / 1.5**step for step in range(10)] + [0.0] * 30,
        [],
    ],
)
def test_few_values_again_and_again_are_another_matter(losses: list[float]) -> None:
    assert repeated_losses(np.round(losses, 2)) is None
