# SPDX-License-Identifier: GPL-3.0-or-later
"""The cells of a sweep as a chart."""

from __future__ import annotations

import re

import pytest
from browser import Browser

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.charts import bars_chart, heat_map
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.pages import page_of


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


def test_a_place_without_a_cell_and_a_value_that_a_cell_does_not_set_are_dashes():
    other = cell(16, 4) | {"values": {"s": 4}}
    drawn = heat_map([cell(8, 1), cell(8, 4), other], ["b", "s"], "tokens_per_sec_per_gpu")
    assert '<th scope="col">–</th>' in drawn
    assert drawn.count('<td class="none">–</td>') == 1


def test_a_cell_that_did_not_pass_is_framed_on_all_sides(chromium, tmp_path):
    cells = [cell(8, 1), cell(8, 4), cell(16, 1), cell(16, 4)]
    for place, verdict in ((1, "FAIL"), (2, "NOT RUN"), (3, "INCONCLUSIVE")):
        cells[place]["verdict"] = verdict
    chart = heat_map(cells, ["b", "s"], "tokens_per_sec_per_gpu")
    sweep = {"sweep_id": "s", "config_file": "c.json", "cells": [], "best": None, "counts": {}}
    path = tmp_path / "sweep.html"
    path.write_text(page_of("sweep.html.j2", {"cells": chart}, sweep=sweep, keys=[], metrics=[], best=None))
    with Browser(chromium) as browser:
        browser.open(path)
        looks = browser.run(
            "[...document.querySelectorAll('.tiles td.none')].map(tile => {"
            " const look = getComputedStyle(tile), sides = ['top', 'right', 'bottom', 'left'];"
            " return [look.borderCollapse, new Set(sides.map(side => look.getPropertyValue('border-' + side))).size,"
            " look.borderBottomWidth]; })"
        )
    assert looks == [["separate", 1, "2px"]] * 3


def test_bars_of_nothing_and_below_zero_have_no_length():
    values = [("a", "PASS", -1.0), ("b", "PASS", 0.0), ("c", "PASS", 4.0)]
    assert re.findall(r"width:([^%]+)%", bars_chart(values, "tokens_per_sec_per_gpu")) == ["0.0", "0.0", "100.0"]
    assert re.findall(r"width:([^%]+)%", bars_chart(values[:1], "tokens_per_sec_per_gpu")) == ["0.0"]
