# SPDX-License-Identifier: GPL-3.0-or-later
"""How long something took, in words."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.text.numbers import duration


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0.4 s"),
        (119.0, "119 s"),
        (1500.0, "25 min"),
        (7500.0, "2 h 5 min"),
        (86400.0, "24 h 0 min"),
        (2592000.0, "30 days"),
        (1e308, "1e+308 s"),
        (float("inf"), "inf s"),
    ],
)
def test_a_time_has_two_units_at_most(seconds: float, words: str) -> None:
    assert duration(seconds) == words
