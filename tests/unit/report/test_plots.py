# SPDX-License-Identifier: GPL-3.0-or-later
"""The plots: lines, colours, shades, ranges and thresholds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.charts import nodes_chart
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.drawing import FORBIDDEN
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.plots import (
    MAX_COLOURED_NODES,
    MAX_POINTS,
    Bound,
    Plot,
    are_enough,
    draw,
    shaded_ranges,
    thinned,
    traces,
    view_range,
    without_repetition,
)

MakeSteps = Callable[[int, int], pd.DataFrame]
UNITS = {"step_time_ms": ("Step time (ms)", "ms"), "loss": ("Loss", "")}


def steps_of(plot: Plot) -> list[list[float]]:
    return [[step for step, _value in line.points] for line in plot.lines]


def nodes_of(plot: Plot) -> list[str]:
    return [line.trace.node for line in plot.lines]


def test_each_node_is_a_line_with_all_its_values(make_steps: MakeSteps) -> None:
    plots, _ = draw(make_steps(3, 20), UNITS, {})
    assert [plot.metric for plot in plots] == ["step_time_ms", "loss"]
    assert nodes_of(plots[1]) == ["node-000", "node-001", "node-002"]
    assert steps_of(plots[1]) == [list(range(1, 21))] * 3
    assert plots[1].lines[0].points[0][1] == pytest.approx(11.6)
    assert not plots[1].thinned


def test_plots_share_their_steps(make_steps: MakeSteps) -> None:
    plots, _ = draw(make_steps(1, 20), UNITS, {})
    assert [plot.x for plot in plots] == [(0.5, 20.5)] * 2


def test_a_metric_that_no_node_tells_has_no_plot(make_steps: MakeSteps) -> None:
    steps = make_steps(2, 5).assign(loss=math.nan).drop(columns="tokens_per_sec_per_gpu")
    plots, _ = draw(steps, {**UNITS, "tokens_per_sec_per_gpu": ("Throughput", "tokens/s")}, {})
    assert [plot.metric for plot in plots] == ["step_time_ms"]


def test_nothing_finite_gives_no_plots(make_steps: MakeSteps) -> None:
    assert draw(make_steps(2, 5)[["node", "node_rank", "attempt", "step", "counted"]], UNITS, {}) == ([], [])


def test_a_node_without_values_has_neither_line_nor_legend(make_steps: MakeSteps) -> None:
    steps = make_steps(2, 5)
    steps.loc[steps["node_rank"] == 0, ["step_time_ms", "loss"]] = math.nan
    plots, looks = draw(steps, UNITS, {})
    assert [look.node for look in looks] == ["node-001"]
    assert nodes_of(plots[0]) == ["node-001"]
    assert plots[0].not_finite == 0


def test_a_node_that_tells_other_metrics_only_has_no_gap(make_steps: MakeSteps) -> None:
    steps = make_steps(2, 5)
    steps.loc[steps["node_rank"] == 0, "loss"] = math.nan
    plots, looks = draw(steps, UNITS, {})
    assert len(looks) == 2
    assert nodes_of(plots[1]) == ["node-001"]
    assert plots[1].not_finite == 0


def test_a_restart_begins_a_line_of_its_own(make_steps: MakeSteps) -> None:
    steps = make_steps(1, 6)
    again = steps[steps["step"] > 3].assign(attempt=2)
    plots, _ = draw(pd.concat([again, steps]), UNITS, {})
    assert [line.attempt for line in plots[0].lines] == [1, 2]
    assert steps_of(plots[0]) == [[1, 2, 3, 4, 5, 6], [4, 5, 6]]
    assert 'data-name="node-000, attempt 2"' in plots[0].chart


def test_no_line_goes_on_over_missing_steps_or_values(make_steps: MakeSteps) -> None:
    steps = make_steps(1, 9)
    steps.loc[2, "loss"] = math.nan
    steps.loc[4, "loss"] = math.inf
    plots, _ = draw(steps[steps["step"] != 8], UNITS, {})
    [line] = plots[1].lines
    assert [[step for step, _value in piece] for piece in line.pieces] == [[1, 2], [4], [6, 7], [9]]
    assert plots[1].not_finite == 2
    assert plots[1].chart.split('data-name="node-000" d="')[1].split('"')[0].count("M") == 4


def test_a_log_of_each_tenth_step_has_no_gaps(make_steps: MakeSteps) -> None:
    steps = make_steps(1, 60)
    plots, _ = draw(steps[steps["step"] % 10 == 0], UNITS, {})
    assert [len(piece) for piece in plots[0].lines[0].pieces] == [6]


def test_up_to_sixteen_nodes_look_different_and_come_in_rank_order(make_steps: MakeSteps) -> None:
    looks = traces(make_steps(MAX_COLOURED_NODES, 1).iloc[::-1])
    assert [look.node for look in looks] == [f"node-{rank:03}" for rank in range(MAX_COLOURED_NODES)]
    assert len({(look.colour, look.dashed) for look in looks}) == MAX_COLOURED_NODES


def test_more_nodes_look_alike_and_are_named_by_hovering(make_steps: MakeSteps) -> None:
    plots, looks = draw(make_steps(MAX_COLOURED_NODES + 1, 3), UNITS, {})
    assert len({(look.colour, look.dashed) for look in looks}) == 1
    assert 'data-name="node-016"' in plots[0].chart


def test_a_single_step_can_be_seen_and_hovered(make_steps: MakeSteps) -> None:
    plots, _ = draw(make_steps(2, 1), UNITS, {})
    assert [line.pieces for line in plots[0].lines] == [[[(1, 60_000.0)]]] * 2
    assert plots[0].chart.count('data-name="node-001" d="M1000 500h0"') == 1


def test_steps_that_no_node_counts_are_shaded(make_steps: MakeSteps) -> None:
    steps = make_steps(2, 9)
    steps.loc[steps["step"].isin([6, 7]), "counted"] = False
    steps.loc[(steps["step"] == 9) & (steps["node_rank"] == 0), "counted"] = False
    assert shaded_ranges(steps) == [(1, 2), (6, 7)]
    plots, _ = draw(steps, UNITS, {})
    assert [f"M{round(x / 9 * 2000)} 0H" in plots[0].chart for x in (0, 5)] == [True, True]


def test_without_warm_up_nothing_is_shaded(make_steps: MakeSteps) -> None:
    assert shaded_ranges(make_steps(2, 3).assign(counted=True)) == []


def test_a_slow_first_step_does_not_squash_the_plot(make_steps: MakeSteps) -> None:
    plots, _ = draw(make_steps(2, 20), UNITS, {})
    assert 9_900 < plots[0].y[0] < 10_000
    assert 10_149 < plots[0].y[1] < 10_300
    assert plots[0].outside == 2
    assert plots[1].outside == 0


def test_a_near_threshold_is_drawn_and_labelled(make_steps: MakeSteps) -> None:
    plots, _ = draw(make_steps(2, 20), UNITS, {"step_time_ms": Bound(None, 10_200.0, "≤ 10 200")})
    assert plots[0].chart.count("threshold ≤ 10 200") == 1
    assert plots[0].bound_lies is None
    assert plots[0].y[1] > 10_200


@pytest.mark.parametrize(("value", "lies"), [(20_000.0, "above"), (5_000.0, "below")])
def test_a_far_threshold_does_not_squash_the_plot(make_steps: MakeSteps, value: float, lies: str) -> None:
    plots, _ = draw(make_steps(2, 20), UNITS, {"step_time_ms": Bound(None, value, "≤ 1")})
    assert plots[0].bound_lies == lies
    assert "threshold" not in plots[0].chart
    assert plots[0].y[1] - plots[0].y[0] < 500


@pytest.mark.parametrize(
    ("values", "counted", "bound", "expected"),
    [
        ([1.0, 2.0], [True, True], None, (0.92, 2.08)),
        ([1.0, 2.0], [True, True], 2.5, (0.88, 2.62)),
        ([1.0, 2.0], [True, True], 2.6, (0.92, 2.08)),
        ([9.0, 1.0, 2.0], [False, True, True], None, (0.92, 2.08)),
        ([4.0, 1.0, 2.0], [False, True, True], None, (0.76, 4.24)),
        ([9.0, 1.0], [False, False], None, (0.36, 9.64)),
        ([100.0], [True], None, (95.0, 105.0)),
        ([0.0], [True], None, (-1.0, 1.0)),
        ([-4.0, -2.0], [True, True], None, (-4.16, -1.84)),
    ],
)
def test_the_first_view_follows_the_values(
    values: list[float], counted: list[bool], bound: float | None, expected: tuple[float, float]
) -> None:
    limits = [] if bound is None else [bound]
    assert view_range(np.array(values), np.array(counted), limits) == pytest.approx(expected)


def test_what_a_threshold_forbids_is_shaded(make_steps: MakeSteps) -> None:
    plots, _ = draw(make_steps(2, 20), UNITS, {"step_time_ms": Bound(9_950.0, 10_200.0, "9 950 – 10 200")})
    assert plots[0].chart.count(f'fill="{FORBIDDEN}"') == 2
    assert plots[0].chart.count("threshold 9 950 – 10 200") == 2


def test_a_straggler_stands_out_and_lies_on_top(make_steps: MakeSteps) -> None:
    for nodes, name in ((3, "node-001"), (20, "node-005")):
        plots, looks = draw(make_steps(nodes, 20), UNITS, {}, {name})
        assert [look.node for look in looks if look.straggler] == [name]
        assert nodes_of(plots[0])[-1] == name
        widths = re.findall(r'stroke-width="([\d.]+)" stroke-opacity', plots[0].chart)
        assert float(widths[-1]) > max(map(float, widths[:-1]))


def test_thinning_keeps_the_ends_and_every_spike() -> None:
    values = np.sin(np.arange(1_000.0))
    values[[123, 777]] = [50.0, -50.0]
    kept = thinned(values, 100)
    assert len(kept) <= 100
    assert {0, 123, 777, 999} <= set(kept.tolist())
    assert (np.diff(kept) > 0).all()


def test_a_short_line_is_not_thinned() -> None:
    assert thinned(np.ones(7), 7).tolist() == list(range(7))


def test_many_points_are_thinned_to_a_bound(make_steps: MakeSteps) -> None:
    plots, _ = draw(make_steps(128, 600), {"loss": ("Loss", "")}, {})
    assert plots[0].thinned
    assert 0.9 * MAX_POINTS < sum(map(len, steps_of(plots[0]))) <= MAX_POINTS


@pytest.mark.parametrize(("count", "enough"), [(6, False), (7, True)])
def test_five_counted_steps_are_enough_for_a_plot(make_steps: MakeSteps, count: int, enough: bool) -> None:
    # The first two are warm-up.
    assert are_enough(make_steps(3, count)) is enough


RATE, TIME = "tokens_per_sec_per_gpu", "step_time_ms"


@pytest.mark.parametrize(
    ("bounds", "plotted"),
    [([], [RATE, "loss"]), ([RATE, TIME], [RATE, "loss"]), ([TIME], ["loss", TIME])],
    ids=["no threshold", "two", "one of the step time"],
)
def test_throughput_and_step_time_of_one_run_are_one_plot(
    make_steps: MakeSteps, bounds: list[str], plotted: list[str]
) -> None:
    bound = Bound(1.0, None, "≥ 1")
    assert without_repetition([RATE, "loss", TIME], make_steps(2, 9), dict.fromkeys(bounds, bound)) == plotted


def test_a_throughput_that_does_not_follow_from_the_step_time_is_a_plot_of_its_own(make_steps: MakeSteps) -> None:
    steps = make_steps(2, 9)
    steps.loc[steps["step"] == 5, RATE] *= 1.1
    assert without_repetition([RATE, "loss", TIME], steps, {}) == [RATE, "loss", TIME]
    assert without_repetition([RATE, "loss", TIME], make_steps(2, 9).drop(columns=RATE), {}) == [RATE, "loss", TIME]


def test_the_values_of_nodes_are_dots_because_the_chart_does_not_begin_at_zero() -> None:
    chart = nodes_chart({"node0": 101.0, "node1": 100.0, "node2": 102.0}, ["node1"], "Throughput", None)
    assert chart.count("<title>") == 3
    assert not re.search(r'd="M\d+ \d+H\d+V\d+H\d+z"', chart)
    low, high = map(float, re.findall(r'data-ends="\S+ \S+ (\S+) (\S+)"', chart)[0])
    assert 0 < low < 100.0
    assert high > 102.0
