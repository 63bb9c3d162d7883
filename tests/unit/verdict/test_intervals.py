# SPDX-License-Identifier: GPL-3.0-or-later
"""Intervals of medians, held against a plain bootstrap."""

from __future__ import annotations

import numpy as np
import pytest
from noise import correlated

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.intervals import median_interval


@pytest.mark.parametrize("size", [51, 200])
def test_the_interval_of_independent_values_is_that_of_drawing_samples_with_replacement(size: int) -> None:
    values = np.random.default_rng(4).normal(100, 5, size)
    draws = np.random.default_rng(6).choice(values, (20_000, size))
    low, high = np.quantile(np.median(draws, axis=1), [0.025, 0.975])
    found = median_interval(values) or {}
    assert found["low"] == pytest.approx(low, abs=6 / size**0.5)
    assert found["high"] == pytest.approx(high, abs=6 / size**0.5)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(
    ("size", "least"), [(3, 0.9), (5, 0.88), (8, 0.88), (10, 0.88), (15, 0.9), (30, 0.9), (200, 0.9)]
)
def test_the_interval_holds_the_truth_as_often_as_it_claims(size: int, least: float, rho: float) -> None:
    intervals = [median_interval(10 + values) or {} for values in correlated(200, size, rho)]
    assert np.mean([found["low"] <= 10 <= found["high"] for found in intervals]) >= least


def test_no_end_of_the_interval_of_times_is_below_zero() -> None:
    few = [500.0, 520, 480, 470, 620, 590, 380, 370, 480, 450, 560, 660, 620, 600, 580, 570, 560, 500, 350, 450]
    low, high = (median_interval(np.array(few)) or {}).values()
    assert 0 < low < min(few) < max(few) < high
    low, high = (median_interval(np.array([1e-30, 1.0, 1e30])) or {}).values()
    assert 0 <= low < 1 < high < float("inf")


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
