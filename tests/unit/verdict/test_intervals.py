# SPDX-License-Identifier: GPL-3.0-or-later
"""Intervals of medians, held against a plain bootstrap."""

from __future__ import annotations

import numpy as np
import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.intervals import median_interval


@pytest.mark.parametrize("size", [3, 4, 9, 10, 51, 200])
def test_the_interval_is_that_of_drawing_samples_with_replacement(size: int) -> None:
    values = np.random.default_rng(5).normal(100, 5, size)
    draws = np.random.default_rng(6).choice(values, (20_000, size))
    plain = np.quantile(np.median(draws, axis=1), [0.025, 0.975])
    assert list((median_interval(values) or {}).values()) == pytest.approx(
        list(plain), abs=6 / size**0.5 if size > 4 else 6
    )


def test_the_median_lies_within_and_more_values_tell_more() -> None:
    generator = np.random.default_rng(7)
    widths = []
    for size in (10, 1000):
        values = generator.normal(100, 5, size)
        low, high = (median_interval(values) or {}).values()
        assert low <= np.median(values) <= high
        widths.append(high - low)
    assert widths[1] < widths[0] / 3


def test_the_same_values_have_the_same_interval_in_any_order() -> None:
    values = np.random.default_rng(8).normal(100, 5, 40)
    assert median_interval(values) == median_interval(values[::-1])


def test_two_values_tell_nothing_and_equal_ones_everything() -> None:
    assert median_interval(np.array([1.0, 2.0])) is None
    assert median_interval(np.full(5, 3.0)) == {"low": 3.0, "high": 3.0}
