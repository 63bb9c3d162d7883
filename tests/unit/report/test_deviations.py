# SPDX-License-Identifier: GPL-3.0-or-later
"""The heat map of nodes over steps."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable

import pandas as pd
import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.deviations import (
    COLOURS,
    MAX_CELLS,
    MAX_NODES,
    deviations,
    heat_map,
)

MakeSteps = Callable[[int, int], pd.DataFrame]
TIME = "step_time_ms"


def test_a_deviation_is_from_the_median_of_its_step() -> None:
    rows = [("a", 1, 90.0), ("b", 1, 100.0), ("c", 1, 120.0), ("a", 2, 50.0), ("b", 2, 50.0), ("c", 2, math.nan)]
    steps = pd.DataFrame(rows, columns=["node", "step", TIME]).assign(attempt=1, counted=True)
    off = deviations(steps, TIME)
    assert off[1].to_dict() == pytest.approx({"a": -10.0, "b": 0.0, "c": 20.0})
    assert off.loc["a", 2] == 0
    assert math.isnan(off.loc["c", 2])


def test_a_step_whose_median_is_nothing_does_not_make_the_scale_endless(make_steps: MakeSteps) -> None:
    steps = make_steps(3, 20)
    steps.loc[(steps["step"] == 10) & (steps["node_rank"] < 2), TIME] = 0.0
    drawn = heat_map(steps, TIME)
    assert drawn is not None
    assert drawn.limit < 100.0
    assert 10 not in deviations(steps, TIME).columns
    assert heat_map(steps.assign(**{TIME: 0.0}), TIME) is None


def test_deviations_of_one_percent_do_not_fill_the_scale_and_smaller_ones_are_a_sentence(make_steps: MakeSteps) -> None:
    steps = make_steps(3, 20)
    drawn = heat_map(steps, TIME)
    assert drawn is not None
    assert drawn.limit == 5.0
    steps[TIME] = 100.0 + 0.5 * (steps["node_rank"] == 2)
    alike = heat_map(steps, TIME)
    assert alike is not None
    assert (alike.is_even, alike.furthest) == (True, pytest.approx(0.5))
    steps.loc[(steps["node_rank"] == 2) & (steps["step"] == 9), TIME] = 103.0
    one_slow = heat_map(steps, TIME)
    assert one_slow is not None
    assert not one_slow.is_even


def test_nodes_that_are_furthest_off_come_first_and_warm_up_moves_none(make_steps: MakeSteps) -> None:
    steps = make_steps(4, 20)
    steps.loc[(steps["node_rank"] == 2) & steps["counted"], TIME] *= 1.5
    steps.loc[(steps["node_rank"] == 1) & (steps["step"] == 1), TIME] *= 9
    drawn = heat_map(steps, TIME)
    assert drawn is not None
    assert drawn.nodes[0] == "node-002"
    assert COLOURS[-1] in drawn.chart
    assert 45 < drawn.limit < 55


def test_a_node_that_is_slow_now_and_then_comes_before_those_that_never_are(make_steps: MakeSteps) -> None:
    steps = make_steps(4, 20)
    steps.loc[(steps["node_rank"] == 3) & (steps["step"] % 5 == 0), TIME] *= 1.5
    drawn = heat_map(steps, TIME)
    assert drawn is not None
    assert drawn.nodes[0] == "node-003"


def test_one_node_has_nobody_to_stand_against(make_steps: MakeSteps) -> None:
    assert heat_map(make_steps(1, 20), TIME) is None
    assert heat_map(make_steps(2, 20), "tflops_per_gpu") is None


def test_many_nodes_and_steps_share_cells(make_steps: MakeSteps) -> None:
    drawn = heat_map(make_steps(MAX_NODES + 6, 500), TIME)
    assert drawn is not None
    assert (drawn.rows, drawn.left_off, drawn.steps_in_cell) == (MAX_NODES, 6, 5)
    assert drawn.chart.count("M") <= MAX_NODES * MAX_CELLS + 100


def test_a_missing_step_has_no_cell(make_steps: MakeSteps) -> None:
    steps = make_steps(2, 10)
    whole, torn = (heat_map(some, TIME) for some in (steps, steps[~((steps["node_rank"] == 1) & (steps["step"] == 5))]))
    assert whole is not None
    assert torn is not None
    assert torn.chart.count("v500") == whole.chart.count("v500") - 1


def test_each_row_has_its_name_and_tells_a_pointer_its_values(make_steps: MakeSteps) -> None:
    steps = make_steps(MAX_NODES + 6, 10)
    steps.loc[(steps["node_rank"] == 20) & steps["counted"], TIME] *= 1.5
    drawn = heat_map(steps, TIME)
    assert drawn is not None
    names = re.findall(r'<span class="y"[^>]*>([^<]+)</span>', drawn.chart)
    assert names == drawn.nodes[:MAX_NODES]
    assert names[0] == "node-020"
    (told,) = re.findall(r'data-cells="([^"]+)"', drawn.chart)
    cells = json.loads(html.unescape(told))
    assert len(cells["rows"]) == MAX_NODES
    assert cells["rows"][0][-1] > 40
