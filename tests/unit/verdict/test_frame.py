from __future__ import annotations

import math

from training_logs import columns, row

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.frame import (
    EARLIER_ATTEMPT,
    RECORD_COLUMNS,
    STEP_COLUMNS,
    WARM_UP,
    attempts_of,
    left_out_of,
    records_frame,
    steps_frame,
)

NODES = [{"node": "gpu00", "node_rank": 0}, {"node": "gpu01", "node_rank": 1}]


def test_steps_after_the_warm_up_count():
    frame = steps_frame(NODES, {"gpu00": columns(*(row(step, loss=1.0) for step in (1, 2, 3, 4)))}, 2)
    assert frame["step"].tolist() == [1, 2, 3, 4]
    assert frame["counted"].tolist() == [False, False, True, True]


def test_a_value_that_float32_cannot_hold_is_infinite():
    frame = steps_frame(NODES, {"gpu00": columns(row(1, loss=1e39), row(2, loss=-1e39), row(3, loss=3e38))}, 0)
    assert frame["loss"].tolist() == [math.inf, -math.inf, 3e38]


def test_every_node_warms_up_by_itself():
    told = {node: columns(row(step, loss=1.0), row(step + 1, loss=1.0)) for node, step in (("gpu00", 1), ("gpu01", 7))}
    frame = steps_frame(NODES, told, 1)
    assert frame[["node", "step", "counted"]].to_numpy().tolist() == [
        ["gpu00", 1, False],
        ["gpu00", 2, True],
        ["gpu01", 7, False],
        ["gpu01", 8, True],
    ]


def test_only_the_last_attempt_counts_and_it_warms_up_anew():
    rows = [row(step, loss=1.0) for step in (1, 2, 3)] + [row(step, attempt=2, loss=1.0) for step in (2, 3, 4)]
    frame = steps_frame(NODES, {"gpu00": columns(*rows)}, 1)
    assert frame[["attempt", "step", "counted"]].to_numpy().tolist() == [
        [1, 1, False],
        [1, 2, False],
        [1, 3, False],
        [2, 2, False],
        [2, 3, True],
        [2, 4, True],
    ]


def test_a_step_that_its_row_leaves_out_does_not_count_for_that_reason():
    rows = [row(0, loss=1.0), row(1, loss=1.0), row(2, loss=1.0), row(3, loss=1.0)]
    rows[0] |= {"left_out": "It compiles."}
    rows[2] |= {"left_out": "It was profiled."}
    frame = steps_frame(NODES, {"gpu00": columns(*rows)}, 2)
    assert frame["counted"].tolist() == [False, False, False, True]
    assert frame["left_out"].tolist() == ["It compiles.", WARM_UP, "It was profiled.", ""]


def test_the_reasons_are_counted_by_the_node_with_most_of_them():
    rows = [{**row(1, loss=1.0), "left_out": "It compiles."}, row(2, loss=1.0), row(3, loss=1.0)]
    again = [row(1, attempt=1, loss=1.0), *(row(step, attempt=2, loss=1.0) for step in (1, 2, 3))]
    frame = steps_frame(NODES, {"gpu00": columns(*rows), "gpu01": columns(*again)}, 2)
    assert left_out_of(frame) == [
        {"reason": "It compiles.", "steps": 1, "nodes": 1},
        {"reason": WARM_UP, "steps": 2, "nodes": 2},
        {"reason": EARLIER_ATTEMPT, "steps": 1, "nodes": 1},
    ]
    assert left_out_of(steps_frame(NODES, {}, 2)) == []


def test_the_last_attempt_is_that_of_the_last_restart():
    steps = columns(row(1, loss=1.0), row(1, attempt=2, loss=2.0), row(1, attempt=2, loss=3.0))
    found, _earlier = attempts_of(steps_frame(NODES, {"gpu00": steps}, 0))
    assert [found["gpu00"][name].tolist() for name in ("attempt", "step", "loss")] == [[2], [1], [3.0]]


def test_a_step_that_was_read_twice_is_one_row_in_which_the_later_values_count_and_none_is_lost():
    rows = [row(1, loss=5.0, step_time_ms=9.0), row(2, loss=4.0), row(1, loss=6.0)]
    frame = steps_frame(NODES, {"gpu00": columns(*rows)}, 0)
    assert frame["step"].tolist() == [1, 2]
    assert frame["loss"].tolist() == [6.0, 4.0]
    assert frame["step_time_ms"][0] == 9.0


def test_a_run_without_any_step_has_the_columns_of_one_with_steps():
    assert steps_frame(NODES, {}, 2).columns.tolist() == STEP_COLUMNS
    assert records_frame("r", NODES, {}).columns.tolist() == RECORD_COLUMNS


def test_records_are_one_row_a_measurement_with_its_unit_and_of_all_attempts():
    rows = {"gpu01": columns(row(1, step_time_ms=12.5, loss=math.nan, clock=7.5), row(1, attempt=2, loss=2.0))}
    records = records_frame("the-run", NODES, rows).to_numpy().tolist()
    assert records[0] == ["the-run", 1, "gpu01", 1, 1, "step_time_ms", 12.5, "ms", False, 7.5]
    assert records[1][:6] == ["the-run", 1, "gpu01", 1, 1, "loss"]
    assert math.isnan(records[1][6])
    assert records[2][:9] == ["the-run", 2, "gpu01", 1, 1, "loss", 2.0, "1", True]
    assert math.isnan(records[2][9])
