# SPDX-License-Identifier: GPL-3.0-or-later
"""Charts: ticks, and the place of each part."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.charts import runs_chart
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.drawing import Chart, tick_texts, ticks


@pytest.mark.parametrize(
    ("low", "high", "most", "least_step", "texts"),
    [
        (0.0, 10.0, 5, 0.0, ["0", "2", "4", "6", "8", "10"]),
        (9_900.0, 10_300.0, 5, 0.0, ["9,900", "10,000", "10,100", "10,200", "10,300"]),
        (0.0012, 0.0017, 5, 0.0, ["0.0012", "0.0013", "0.0014", "0.0015", "0.0016", "0.0017"]),
        (0.5, 3.5, 8, 1.0, ["1", "2", "3"]),
        (0.5, 1.5, 8, 1.0, ["1"]),
        (-6.5, 0.5, 8, 1.0, ["−6", "−5", "−4", "−3", "−2", "−1", "0"]),
    ],
)
def test_ticks_are_round_and_told_apart(
    low: float, high: float, most: int, least_step: float, texts: list[str]
) -> None:
    assert tick_texts(ticks(low, high, most, least_step)) == texts


def test_what_is_named_is_text() -> None:
    chart = Chart((0.0, 1.0), (0.0, 1.0), "<x>", "<y>")
    chart.line([[(0.0, 0.0), (1.0, 1.0)]], "red", name="<n>'\"")
    chart.dots([(0.5, 0.5)], "red", title="<t>")
    html = chart.html()
    assert "M0 1000L2000 0" in html
    assert not any(f"<{text}>" in html for text in "xynt")


def test_whiskers_are_whole() -> None:
    runs = [
        {"run_id": f"r{low}", "started_at": "", "verdict": "PASS", "m": 5.0, "m_low": low, "m_high": 5.5}
        for low in (1.0, 4.0)
    ]
    chart = runs_chart(runs, "m", "M", (4.9, 5.1))
    assert chart is not None
    low, high = map(float, chart.split('data-ends="')[1].split('"')[0].split()[2:])
    assert low < 1.0
    assert high > 5.5
