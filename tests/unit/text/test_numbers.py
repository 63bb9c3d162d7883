# SPDX-License-Identifier: GPL-3.0-or-later
"""How numbers and values of metrics read in a sentence."""

from __future__ import annotations

import math

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.text.bounds import margin_in_words
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.numbers import (
    exact,
    in_words,
    number,
    percent,
)


@pytest.mark.parametrize(
    ("value", "uncertainty", "text"),
    [
        (8724.64, 32.0, "8,725"),
        (8724.64, 3.9, "8,725"),
        (599.71, 1.2, "599.7"),
        (599.0, 0.5, "599.0"),
        (8724.64, 0.0, "8,725"),
        (420.25, 0.0, "420.2"),
        (400.0, 0.0, "400"),
        (4.18374, 0.0, "4.184"),
        (1234567.8, 0.0, "1,234,568"),
        (0.0, 0.0, "0"),
        (-3.25, 0.0, "−3.25"),
        (1e-5, 0.0, "1e−05"),
        (3e38, 1e37, "3e+38"),
        (3.0, 5e-324, "3"),
        (math.nan, 0.0, "nan"),
        (math.inf, 0.0, "inf"),
        (5.0, math.inf, "5"),
    ],
)
def test_a_number_has_the_digits_that_its_uncertainty_supports(value: float, uncertainty: float, text: str) -> None:
    assert number(value, uncertainty) == text


def test_what_a_user_gave_keeps_its_digits() -> None:
    assert [exact(value) for value in (8800.0, 1307.4, 0.95, 12000)] == ["8,800", "1,307.4", "0.95", "12,000"]


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (-0.00857, "−0.9 %"),
        (0.014, "+1.4 %"),
        (0.333, "+33.3 %"),
        (-0.0005, "−0.05 %"),
        (0.00002, "+0.002 %"),
        (0.0, "±0 %"),
        (12.0, "+1,200 %"),
        (math.inf, "inf %"),
    ],
)
def test_a_change_is_told_in_percent_with_its_sign(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(
    ("margin", "text"),
    [
        ((0.029, "above"), "2.9 % above"),
        ((0.5, "below"), "50.0 % below"),
        ((0.0, "below"), "exactly"),
        ((0.99, "above"), "99.0 % above"),
        ((1.0, "above"), "2 times"),
        ((1.0, "below"), "100 % below"),
        ((2.03, "above"), "3 times"),
        ((573.88, "above"), "575 times"),
    ],
)
def test_a_value_far_above_its_threshold_is_told_as_a_factor(margin: tuple[float, str], text: str) -> None:
    share, side = margin
    assert margin_in_words({"share": share, "side": side, "met": True}) == text


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("tokens_per_sec_per_gpu", 8724.64, "8,725 tokens/s per GPU"),
        ("tflops_per_gpu", 474.1, "474.1 TFLOP/s per GPU"),
        ("step_time_ms", 1778.6, "1,779 ms"),
        ("memory_fraction", 0.9222, "92.22 %"),
        ("loss", 7.0255, "7.026"),
        ("skipped_iterations", 2.0, "2 iterations"),
    ],
)
def test_a_value_has_the_unit_of_its_metric(metric: str, value: float, text: str) -> None:
    assert in_words(metric, value) == text
