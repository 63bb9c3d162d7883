# SPDX-License-Identifier: GPL-3.0-or-later
"""The plots: lines, colours, shades, ranges and thresholds."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from bokeh.models import BoxAnnotation, HoverTool, Label, MultiLine, Scatter, Span

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.plots import (
    FORBIDDEN,
    MAX_COLOURED_NODES,
    MAX_POINTS,
    Bound,
    Plot,
    draw,
    shaded_ranges,
    thinned,
    traces,
    view_range,
)

MakeSteps = Callable[[int, int], pd.DataFrame]
UNITS = {"step_time_ms": "ms", "loss": ""}


def lines_of(plot: Plot) -> dict[str, t.Any]:
    return dict(next(r.data_source.data for r in plot.figure.renderers if isinstance(r.glyph, MultiLine)))


def drawn(plot: Plot, kind: type) -> list[t.Any]:
    return list(plot.figure.select({"type": kind}))


def test_each_node_is_a_line_with_all_its_values(make_steps: MakeSteps) -> None:
    plots, _ = draw(make_steps(3, 20), UNITS, {})
    assert [plot.metric for plot in plots] == ["step_time_ms", "loss"]
    lines = lines_of(plots[1])
    assert lines["node"] == ["node-000", "node-001", "node-002"]
    assert [list(xs) for xs in lines["xs"]] == [list(range(1, 21))] * 3
    assert lines["ys"][0][0] == pytest.approx(11.6)
    assert not plots[1].thinned


def test_plots_share_their_steps(make_steps: MakeSteps) -> None:
    (first, second), _ = draw(make_steps(1, 20), UNITS, {})
    assert first.figure.x_range is second.figure.x_range
    assert (first.figure.x_range.start, first.figure.x_range.end) == (0.5, 20.5)


def test_a_metric_that_no_node_tells_has_no_plot(make_steps: MakeSteps) -> None:
    steps = make_steps(2, 5).assign(loss=math.nan).drop(columns="tokens_per_sec_per_gpu")
    plots, _ = draw(steps, {**UNITS, "tokens_per_sec_per_gpu": "tokens/s"}, {})
    assert [plot.metric for plot in plots] == ["step_time_ms"]


def test_nothing_finite_gives_no_plots(make_steps: MakeSteps) -> None:
    assert draw(make_steps(2, 5)[["node", "node_rank", "attempt", "step", "counted"]], UNITS, {}) == ([], [])


def test_a_node_without_values_has_neither_line_nor_legend(make_steps: MakeSteps) -> None:
    steps = make_steps(2, 5)
    steps.loc[steps["node_rank"] == 0, ["step_time_ms", "loss"]] = math.nan
    plots, looks = draw(steps, UNITS, {})
    assert [look.node for look in looks] == ["node-001"]
    assert lines_of(plots[0])["node"] == ["node-001"]
    assert plots[0].not_finite == 0


def test_a_node_that_tells_other_metrics_only_has_no_gap(make_steps: MakeSteps) -> None:
    steps = make_steps(2, 5)
    steps.loc[steps["node_rank"] == 0, "loss"] = math.nan
    plots, looks = draw(steps, UNITS, {})
    assert len(looks) == 2
    assert lines_of(plots[1])["node"] == ["node-001"]
    assert plots[1].not_finite == 0


def test_a_plot_stretches_is_transparent_and_lets_a_finger_scroll(make_steps: MakeSteps) -> None:
    figure = draw(make_steps(1, 5), UNITS, {})[0][0].figure
    assert figure.sizing_mode == "stretch_width"
    assert (figure.background_fill_alpha, figure.border_fill_alpha) == (0, 0)
    assert (figure.toolbar.logo, figure.toolbar.active_drag) == (None, None)


def test_hovering_tells_node_step_and_value_of_the_nearest_step(make_steps: MakeSteps) -> None:
    plots, _ = draw(make_steps(2, 5), UNITS, {})
    (hover,) = drawn(plots[0], HoverTool)
    assert hover.tooltips == "<div><b>@node</b>, step $snap_x{%d}: $snap_y{%.6g} ms</div>"
    assert hover.line_policy == "nearest"
    assert isinstance(hover.renderers[0].glyph, MultiLine)


def test_a_restart_begins_a_line_of_its_own(make_steps: MakeSteps) -> None:
    steps = make_steps(1, 6)
    again = steps[steps["step"] > 3].assign(attempt=2)
    plots, _ = draw(pd.concat([again, steps]), UNITS, {})
    lines = lines_of(plots[0])
    assert [(attempt, list(xs)) for attempt, xs in zip(lines["attempt"], lines["xs"], strict=True)] == [
        (1, [1, 2, 3, 4, 5, 6]),
        (2, [4, 5, 6]),
    ]
    assert "@attempt" in drawn(plots[0], HoverTool)[0].tooltips


def test_values_that_are_not_finite_leave_a_gap_and_are_counted(make_steps: MakeSteps) -> None:
    steps = make_steps(1, 6)
    steps.loc[2, "loss"] = math.nan
    steps.loc[4, "loss"] = math.inf
    plots, _ = draw(steps, UNITS, {})
    assert np.isnan(lines_of(plots[1])["ys"][0]).tolist() == [False, False, True, False, True, False]
    assert plots[1].not_finite == 2


def test_up_to_sixteen_nodes_look_different_and_come_in_rank_order(make_steps: MakeSteps) -> None:
    looks = traces(make_steps(MAX_COLOURED_NODES, 1).iloc[::-1])
    assert [look.node for look in looks] == [f"node-{rank:03}" for rank in range(MAX_COLOURED_NODES)]
    assert len({(look.colour, look.dashed) for look in looks}) == MAX_COLOURED_NODES


def test_more_nodes_look_alike_and_are_named_by_hovering(make_steps: MakeSteps) -> None:
    plots, looks = draw(make_steps(MAX_COLOURED_NODES + 1, 3), UNITS, {})
    assert len({(look.colour, look.dashed) for look in looks}) == 1
    assert "@node" in drawn(plots[0], HoverTool)[0].tooltips


def test_a_single_step_can_be_seen_and_hovered(make_steps: MakeSteps) -> None:
    plots, _ = draw(make_steps(2, 1), UNITS, {})
    (target,) = drawn(plots[0], HoverTool)[0].renderers
    assert isinstance(target.glyph, Scatter)
    assert list(target.data_source.data["y"]) == [60_000.0, 60_000.0]


def test_steps_that_no_node_counts_are_shaded(make_steps: MakeSteps) -> None:
    steps = make_steps(2, 9)
    steps.loc[steps["step"].isin([6, 7]), "counted"] = False
    steps.loc[(steps["step"] == 9) & (steps["node_rank"] == 0), "counted"] = False
    assert shaded_ranges(steps) == [(1, 2), (6, 7)]
    plots, _ = draw(steps, UNITS, {})
    boxes = [box for box in plots[0].figure.center if isinstance(box, BoxAnnotation)]
    assert [(box.left, box.right) for box in boxes] == [(0.5, 2.5), (5.5, 7.5)]


def test_without_warm_up_nothing_is_shaded(make_steps: MakeSteps) -> None:
    assert shaded_ranges(make_steps(2, 3).assign(counted=True)) == []


def test_a_slow_first_step_does_not_squash_the_plot(make_steps: MakeSteps) -> None:
    plots, _ = draw(make_steps(2, 20), UNITS, {})
    assert 9_900 < plots[0].figure.y_range.start < 10_000
    assert 10_149 < plots[0].figure.y_range.end < 10_300
    assert plots[0].outside == 2
    assert plots[1].outside == 0


def test_a_near_threshold_is_drawn_and_labelled(make_steps: MakeSteps) -> None:
    plots, _ = draw(make_steps(2, 20), UNITS, {"step_time_ms": Bound(None, 10_200.0, "≤ 10 200")})
    assert [span.location for span in drawn(plots[0], Span)] == [10_200.0]
    assert [label.text for label in drawn(plots[0], Label)] == ["threshold ≤ 10 200"]
    assert plots[0].bound_lies is None
    assert plots[0].figure.y_range.end > 10_200


@pytest.mark.parametrize(("value", "lies"), [(20_000.0, "above"), (5_000.0, "below")])
def test_a_far_threshold_does_not_squash_the_plot(make_steps: MakeSteps, value: float, lies: str) -> None:
    plots, _ = draw(make_steps(2, 20), UNITS, {"step_time_ms": Bound(None, value, "≤ 1")})
    assert plots[0].bound_lies == lies
    assert drawn(plots[0], Span) == []
    assert plots[0].figure.y_range.end - plots[0].figure.y_range.start < 500


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
    sides = {(box.top, box.bottom) for box in drawn(plots[0], BoxAnnotation) if box.fill_color == FORBIDDEN}
    assert {tuple(side if isinstance(side, float) else None for side in both) for both in sides} == {
        (9_950.0, None),
        (None, 10_200.0),
    }
    assert {span.location for span in drawn(plots[0], Span)} == {9_950.0, 10_200.0}


def test_a_straggler_stands_out_and_lies_on_top(make_steps: MakeSteps) -> None:
    for nodes, name in ((3, "node-001"), (20, "node-005")):
        plots, looks = draw(make_steps(nodes, 20), UNITS, {}, {name})
        assert [look.node for look in looks if look.straggler] == [name]
        data = lines_of(plots[0])
        assert data["node"][-1] == name
        assert data["width"][-1] > max(data["width"][:-1])


def test_thinning_keeps_the_ends_and_every_spike() -> None:
    values = np.sin(np.arange(1_000.0))
    values[[123, 777]] = [50.0, -50.0]
    values[480:540] = math.nan
    kept = thinned(values, 100)
    assert len(kept) <= 100
    assert {0, 123, 777, 999} <= set(kept.tolist())
    assert np.isnan(values[kept]).any()
    assert (np.diff(kept) > 0).all()


def test_a_short_line_is_not_thinned() -> None:
    assert thinned(np.ones(7), 7).tolist() == list(range(7))


def test_many_points_are_thinned_to_a_bound(make_steps: MakeSteps) -> None:
    plots, _ = draw(make_steps(128, 600), {"loss": ""}, {})
    assert plots[0].thinned
    assert 0.9 * MAX_POINTS < sum(map(len, lines_of(plots[0])["ys"])) <= MAX_POINTS
