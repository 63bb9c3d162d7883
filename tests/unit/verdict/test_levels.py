# SPDX-License-Identifier: GPL-3.0-or-later
"""Step times with two levels."""

from __future__ import annotations

import numpy as np
import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.intervals import levels_of

RANDOM = np.random.default_rng(3)


def around(level: float, count: int) -> list[float]:
    return list(level * (1 + 0.01 * RANDOM.normal(size=count)))


def test_two_levels_are_told_with_how_many_steps_each_has() -> None:
    found = levels_of(np.array([*around(5230, 8), *around(15700, 9), *around(5230, 9)]))
    assert found is not None
    assert (found.lows, found.highs) == (17, 9)
    assert (found.low, found.high) == pytest.approx((5230, 15700), rel=0.01)


@pytest.mark.parametrize(
    "values",
    [
        around(500, 30),
        [*around(500, 28), *around(1500, 2)],
        [*around(500, 15), *around(520, 15)],
        list(np.linspace(400, 800, 30)),
        list(500 * np.exp(0.3 * RANDOM.normal(size=40))),
        [*around(500, 3), *around(900, 2)],
        [0.0] * 10,
        [500.0] * 10,
        [587.1, 438.9, 436.0, 442.1, 1152.6, 434.1, 432.5, 433.2],
    ],
    ids=["one", "pauses", "noise", "a ramp", "a wide one", "too few", "zero", "equal", "a real run with a hiccup"],
)
def test_anything_else_has_not_two_levels(values: list[float]) -> None:
    assert levels_of(np.array(values)) is None


def test_large_numbers_are_no_problem() -> None:
    found = levels_of(np.array([*around(1e30, 8), *around(3e38, 8)]))
    assert found is not None
    assert (found.lows, found.highs) == (8, 8)
