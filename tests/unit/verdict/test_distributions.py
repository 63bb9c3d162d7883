# SPDX-License-Identifier: GPL-3.0-or-later
"""Chances and quantiles, beside those of scipy 1.16."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.distributions import (
    incomplete_beta,
    more_than,
    student_quantile,
)


@pytest.mark.parametrize(
    ("function", "arguments", "of_scipy"),
    [
        (incomplete_beta, (1, 1, 0.25), 0.25),
        (incomplete_beta, (9.5, 1.5, 0.5), 0.003689890311953248),
        (incomplete_beta, (2, 300, 0.001), 0.03708085819707069),
        (incomplete_beta, (0.5, 0.5, 0.9), 0.7951672353008665),
        (incomplete_beta, (5001, 5000, 0.5), 0.49601067693030826),
        (incomplete_beta, (12, 3, 0.0), 0.0),
        (incomplete_beta, (12, 3, 1.0), 1.0),
        (student_quantile, (1, 0.975), 12.706204736174694),
        (student_quantile, (1.5, 1e-6), -5219.4693247069445),
        (student_quantile, (3, 0.9), 1.637744353696209),
        (student_quantile, (30, 0.995), 2.7499956535672254),
        (student_quantile, (9, 0.5), 0.0),
        (student_quantile, (1200.5, 0.0001), -3.7305345564768757),
        (student_quantile, (0, 0.9), math.nan),
        (more_than, (0, 10, 0.01), 0.09561792499119559),
        (more_than, (4, 20, 0.1), 0.043174495284463404),
        (more_than, (49, 1000, 0.03), 0.0004207665452485025),
    ],
)
def test_chances_and_quantiles_are_as_those_of_scipy(
    function: Callable[..., float], arguments: tuple[float, ...], of_scipy: float
) -> None:
    assert function(*arguments) == pytest.approx(of_scipy, rel=1e-10, nan_ok=True)
