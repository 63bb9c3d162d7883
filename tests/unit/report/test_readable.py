# SPDX-License-Identifier: GPL-3.0-or-later
"""How metrics, numbers and times read."""

from __future__ import annotations

import math
import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.readable import (
    duration,
    exact,
    instant,
    number,
    shown,
    titled,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10235.84, "10,236"),
        (1234567, "1,234,567"),
        (508.04, "508.0"),
        (0.81234, "0.8123"),
        (0.00012345, "0.0001234"),
        (1.5e-6, "1.5e−06"),
        (-36.741, "−36.74"),
        (3.5e15, "3.5e+15"),
        (0.0, "0"),
        (-0.0, "0"),
        (12, "12"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "–"),
        (None, "–"),
        ("auto", "auto"),
    ],
)
def test_numbers_have_four_digits_and_thin_separators(value: t.Any, text: str) -> None:
    assert number(value) == text


def test_a_number_can_have_fewer_digits() -> None:
    assert number(2.4912, 3) == "2.49"


@pytest.mark.parametrize(
    ("value", "text"),
    [(10500.0, "10,500"), (6.7345, "6.7345"), (-1, "−1"), (12345678901, "12,345,678,901")],
)
def test_a_bound_keeps_the_digits_it_was_given(value: float, text: str) -> None:
    assert exact(value) == text


@pytest.mark.parametrize(
    ("metric", "title"),
    [
        ("step_time_ms", "Step time (ms)"),
        ("memory_fraction", "GPU memory in use (%)"),
        ("mfu", "MFU (%)"),
        ("loss", "Loss"),
        ("nan_iterations", "NaN iterations"),
        ("something_new", "something_new"),
    ],
)
def test_a_title_tells_the_unit(metric: str, title: str) -> None:
    assert titled(metric) == title


@pytest.mark.parametrize(
    ("value", "text"), [(True, "yes"), (False, "no"), (None, "–"), (math.nan, "–"), ("x", "x"), (0, 0)]
)
def test_nothing_is_a_dash_and_a_boolean_a_word(value: t.Any, text: t.Any) -> None:
    assert shown(value) == text


def test_an_instant_reads_without_its_t() -> None:
    assert instant("2026-07-11T09:12:03.123+00:00") == "2026-07-11 09:12:03 UTC"
    assert instant(None) == "–"


@pytest.mark.parametrize(
    ("started_at", "ended_at", "text"),
    [
        ("2026-07-11T09:00:00+00:00", "2026-07-11T09:00:42+00:00", "42 s"),
        ("2026-07-11T09:00:00+00:00", "2026-07-11T09:05:41+00:00", "5 min 41 s"),
        ("2026-07-11T09:00:00+00:00", "2026-07-12T10:05:41+00:00", "25 h 5 min"),
        ("2026-07-11T09:00:00+00:00", None, None),
    ],
)
def test_a_duration_is_told_where_it_is_known(started_at: str, ended_at: str | None, text: str | None) -> None:
    assert duration(started_at, ended_at) == text
