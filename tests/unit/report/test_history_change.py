# SPDX-License-Identifier: GPL-3.0-or-later
"""Real change, within noise, or undecidable."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history import (
    NOISE,
    REAL,
    UNKNOWN,
    against_earlier,
    between_groups,
    count_telling_tests,
)

TOKENS = "tokens_per_sec_per_gpu"
EARLIER = [100.0, 101.0, 99.0, 100.5, 99.5]


def test_the_noise_is_the_prediction_interval_of_one_more_run():
    change = against_earlier(TOKENS, 101.0, EARLIER)
    # s = 0.790569, t(0.975; 4) = 2.776, times √(1 + 1/5)
    assert change.high == pytest.approx(100 + 2.776 * 0.790569 * math.sqrt(1.2), rel=1e-5)
    assert change.low == pytest.approx(200 - change.high)
    assert (change.before, change.percent, change.outcome, change.better) == (100.0, 1.0, NOISE, None)


@pytest.mark.parametrize(
    ("metric", "value", "better"),
    [(TOKENS, 97.0, False), (TOKENS, 103.0, True), ("step_time_ms", 97.0, True), ("loss", 103.0, False)],
)
def test_beyond_the_noise_a_change_is_real_and_has_a_direction(metric, value, better):
    change = against_earlier(metric, value, EARLIER)
    assert (change.outcome, change.better) == (REAL, better)


@pytest.mark.parametrize("before", [0.0, 5e-324])
def test_a_change_from_nothing_has_no_percentage(before):
    assert against_earlier(TOKENS, 100.0, EARLIER, before).percent is None
    assert between_groups(TOKENS, [before] * 4, [100.0] * 4).percent is None


@pytest.mark.parametrize("count", range(5))
def test_few_runs_tell_nothing_and_say_so(count):
    change = against_earlier(TOKENS, 1.0, EARLIER[:count])
    assert (change.outcome, change.better, change.low) == (UNKNOWN, None, None)
    assert (change.test_code, change.test_case) == ("too_few_runs", "" if count else "none")
    assert change.test_values == {"runs": count, "needed": 5}


def test_runs_that_never_differ_make_any_difference_real_but_for_rounding():
    assert against_earlier("loss", 3.0 + 1e-12, [3.0] * 5).outcome == NOISE
    assert against_earlier("loss", 3.001, [3.0] * 5).outcome == REAL


def test_of_a_hundred_runs_of_the_same_noise_about_five_stand_out():
    chance = np.random.default_rng(1)
    draws = chance.normal(100, 2, size=(2000, 9))
    outcomes = [against_earlier(TOKENS, draw[8], list(draw[:8])).outcome for draw in draws]
    assert 0.035 < outcomes.count(REAL) / len(outcomes) < 0.065


def test_intervals_of_several_metrics_hold_at_once():
    one, of_five = (against_earlier(TOKENS, 103.0, EARLIER, tests=tests) for tests in (1, 5))
    # t(0.995; 4) = 4.604: the level of 5 % is shared by 5 tests.
    assert of_five.high == pytest.approx(100 + 4.6041 * 0.790569 * math.sqrt(1.2), rel=1e-5)
    assert (one.outcome, of_five.outcome) == (REAL, NOISE)
    assert (one.test_code, one.test_case, one.test_values) == ("prediction_interval", "", {"runs": 5})
    assert (of_five.test_case, of_five.test_values) == ("together", {"runs": 5, "tests": 5})


def test_pages_of_equal_runs_show_a_real_change_on_one_in_twenty():
    chance = np.random.default_rng(3)
    pages = chance.normal(100, 2, size=(1000, 6, 9))
    real = [
        any(against_earlier(TOKENS, of[8], of[:8], tests=6).outcome == REAL for of in page.tolist()) for page in pages
    ]
    assert 0.035 < sum(real) / len(real) < 0.065


def test_groups_of_several_tests_have_to_differ_more_clearly():
    before, after = [100, 101, 99, 100, 102], [90, 91, 92, 89, 93]
    # 2 of the 252 splits of 10 runs into 5 and 5, at 5 % of 6 and of 7 tests.
    of_six = between_groups(TOKENS, before, after, 6)
    assert (of_six.test_code, of_six.test_case) == ("mann_whitney", "together")
    assert of_six.test_values == {"before": 5, "after": 5, "p": pytest.approx(6 * 2 / 252), "tests": 6}
    outcomes = [between_groups(TOKENS, before, after, tests).outcome for tests in (6, 7)]
    assert outcomes == [REAL, UNKNOWN]


@pytest.mark.parametrize(
    ("sizes", "tests"),
    [([], 1), ([(3, 3)], 1), ([(4, 4)], 1), ([(4, 4)] * 2, 2), ([(5, 5)] * 6, 6), ([(8, 8)] * 4 + [(4, 4)] * 50, 4)],
)
def test_tests_that_could_show_nothing_take_nothing_of_the_level(sizes, tests):
    assert count_telling_tests(sizes) == tests


def test_groups_that_do_not_overlap_differ_for_real():
    change = between_groups(TOKENS, [100, 101, 99, 100], [90, 91, 92, 89])
    assert (change.outcome, change.better, change.before, change.after) == (REAL, False, 100.0, 90.5)
    # 2 of the 70 splits of 8 runs into 4 and 4.
    assert change.test_values["p"] == pytest.approx(2 / 70)


@pytest.mark.parametrize(("metric", "better"), [(TOKENS, True), ("step_time_ms", False)])
def test_groups_with_the_same_median_differ_as_the_runs_around_it_do(metric, better):
    change = between_groups(metric, [10.0] * 5 + [9.0] * 4, [10.0] * 5 + [11.0] * 4)
    assert (change.outcome, change.percent, change.better) == (REAL, 0.0, better)


def test_groups_that_overlap_are_within_noise():
    assert between_groups(TOKENS, [100, 101, 99, 98, 102], [100, 99, 101, 97, 103]).outcome == NOISE


@pytest.mark.parametrize("sizes", [(1, 1), (3, 3), (1, 15)])
def test_groups_too_small_for_any_difference_to_stand_out_are_not_told(sizes):
    change = between_groups(TOKENS, [100.0] * sizes[0], [1.0] * sizes[1])
    assert (change.outcome, change.better, change.test_code) == (UNKNOWN, None, "too_few_to_differ")


def test_of_large_groups_the_test_is_an_approximation():
    chance = np.random.default_rng(2)
    before, after = list(chance.normal(100, 1, 200)), list(chance.normal(101, 1, 300))
    change = between_groups(TOKENS, before, after)
    assert change.outcome == REAL
    assert (change.test_code, change.test_case) == ("mann_whitney", "approximation")
    assert (change.test_values["before"], change.test_values["after"]) == (200, 300)
