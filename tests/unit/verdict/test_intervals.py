# SPDX-License-Identifier: GPL-3.0-or-later
"""Intervals of medians and means: how often they contain the truth, and how wide they are."""

from __future__ import annotations

import typing as t

import numpy as np
import pytest
from noise import correlated

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.intervals import mean_interval, median_interval


@pytest.mark.parametrize("size", [51, 200])
def test_the_interval_of_independent_values_is_that_of_drawing_samples_with_replacement(size: int) -> None:
    values = np.random.default_rng(4).normal(100, 5, size)
    draws = np.random.default_rng(6).choice(values, (20_000, size))
    low, high = np.quantile(np.median(draws, axis=1), [0.025, 0.975])
    found = median_interval(values) or {}
    assert found["low"] == pytest.approx(low, abs=6 / size**0.5)
    assert found["high"] == pytest.approx(high, abs=6 / size**0.5)


def ends(of: t.Callable[..., t.Any], series: np.ndarray) -> np.ndarray:
    """Return the intervals of series, a row each, with their low and high ends."""
    return np.array([list(of(values).values()) for values in series])


# How much of the truth few correlated values miss is bounded by their own range.
COVERAGE = {0.0: {5: 0.92, 8: 0.93, 10: 0.93, 15: 0.93, 30: 0.92, 200: 0.92}, 0.3: {10: 0.90, 15: 0.90, 30: 0.92}}
COVERAGE[0.5] = {10: 0.84, 15: 0.87, 30: 0.90, 200: 0.92}
COVERAGE[0.9] = {100: 0.84, 200: 0.88}


@pytest.mark.parametrize("of", [median_interval, mean_interval])
@pytest.mark.parametrize(
    ("size", "rho", "least"), [(size, rho, least) for rho, row in COVERAGE.items() for size, least in row.items()]
)
def test_the_interval_holds_the_truth_as_often_as_it_claims(
    of: t.Callable[..., t.Any], size: int, rho: float, least: float
) -> None:
    low, high = ends(of, 10 + correlated(400, size, rho)).T
    assert least <= np.mean((low <= 10) & (high >= 10)) <= 0.995


@pytest.mark.parametrize("of", [median_interval, mean_interval])
@pytest.mark.parametrize("size", [10, 15, 30])
def test_the_interval_of_independent_values_is_hardly_wider_than_it_has_to_be(
    of: t.Callable[..., t.Any], size: int
) -> None:
    series = correlated(400, size, 0.0)
    statistic = np.median if of is median_interval else np.mean
    needed = np.diff(np.quantile(statistic(correlated(4000, size, 0.0), axis=1), [0.025, 0.975]))
    low, high = ends(of, series).T
    assert np.mean(high - low) < 1.6 * needed


@pytest.mark.parametrize("of", [median_interval, mean_interval])
def test_no_interval_leaves_the_range_of_its_values(of: t.Callable[..., t.Any]) -> None:
    few = [500.0, 520, 480, 470, 620, 590, 380, 370, 480, 450, 560, 660, 620, 600, 580, 570, 560, 500, 350, 450]
    two_levels = [5230.0] * 8 + [15700.0] * 9 + [5230.0] * 9
    for values in (few, two_levels, [1e-30, 1.0, 1.0, 1.0, 1e30], [1.0, 1, 1, 1, 100], list(range(1, 30))):
        low, high = of(np.array(values)).values()
        assert min(values) <= low <= high <= max(values)


def test_one_slow_step_does_not_widen_the_interval_of_the_median() -> None:
    values = np.random.default_rng(3).normal(500, 5, 12)
    low, high = (median_interval(values) or {}).values()
    values[6] = 5000
    slow_low, slow_high = (median_interval(values) or {}).values()
    assert slow_high - slow_low < 2 * (high - low)


def test_outliers_of_few_correlated_steps_are_no_end_of_the_interval_of_the_median() -> None:
    values = np.array([587.1, 438.9, 436.0, 442.1, 1152.6, 434.1, 432.5, 433.2])
    low, high = (median_interval(values) or {}).values()
    assert (low, high) == (432.5, pytest.approx(490, abs=5))
    assert (mean_interval(values) or {})["high"] > 700


def test_two_levels_of_correlated_steps_are_both_in_the_interval() -> None:
    values = np.array([5230.0, 5240, 5220, 5235, 5228, 5231, 15700, 15720, 15690, 15710, 5225, 5233])
    low, high = (median_interval(values) or {}).values()
    assert low < 5230
    assert high > 15000


def test_the_median_lies_within_and_more_values_tell_more() -> None:
    generator = np.random.default_rng(7)
    widths = []
    for size in (10, 1000):
        values = generator.normal(100, 5, size)
        low, high = (median_interval(values) or {}).values()
        assert low <= np.median(values) <= high
        widths.append(high - low)
    assert widths[1] < widths[0] / 3


def test_the_same_values_have_the_same_interval_in_reverse() -> None:
    values = np.random.default_rng(8).normal(100, 5, 40)
    assert median_interval(values) == median_interval(values[::-1])


def test_four_values_tell_nothing_and_equal_ones_everything() -> None:
    assert median_interval(np.array([1.0, 2.0, 3.0, 4.0])) is None
    assert mean_interval(np.array([1.0, 2.0, 3.0, 4.0])) is None
    assert median_interval(np.full(5, 3.0)) == mean_interval(np.full(5, 3.0)) == {"low": 3.0, "high": 3.0}
