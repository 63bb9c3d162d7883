# SPDX-License-Identifier: GPL-3.0-or-later
"""The cells of a sweep as a chart."""

from __future__ import annotations

import re

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.sweep_charts import heat_map


def cell(batch, size):
    metrics = {"tokens_per_sec_per_gpu": 100.0}
    return {"name": f"{batch}-{size}", "values": {"b": batch, "s": size}, "verdict": "PASS", "metrics": metrics}


@pytest.mark.parametrize(
    ("sizes", "ordered"),
    [
        ([1, 4, 2], ["1", "2", "4"]),
        ([10, 9.5, 1], ["1", "9.5", "10"]),
        (["slow", "fast", "off"], ["slow", "fast", "off"]),
    ],
)
def test_numbers_stand_in_their_order_where_an_excluded_cell_made_another_and_words_as_given(sizes, ordered):
    cells = [cell(8, sizes[0]), cell(8, sizes[1]), *(cell(16, size) for size in (sizes[0], sizes[2], sizes[1]))]
    drawn = heat_map(cells, ["b", "s"], "tokens_per_sec_per_gpu")
    assert re.findall(r'<th scope="col">(\w+)</th>', drawn) == ["s", "8", "16"]
    assert re.findall(r'<th scope="row">([\w.]+)</th>', drawn) == ordered
