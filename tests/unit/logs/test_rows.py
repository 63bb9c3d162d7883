from __future__ import annotations

import json

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.rows import FoundSteps, StepRows, rows_of


def found(steps: list[int], **metrics: list[float]) -> FoundSteps:
    return FoundSteps(steps, 9, metrics, timer_kept_on=False)


def row(step: int, **metrics: float) -> dict[str, object]:
    return {"attempt": 2, "step": step, "steps_total": 9, "metrics": metrics}


def test_rows_and_blocks_are_told_in_their_order() -> None:
    rows = StepRows()
    assert (bool(rows), len(rows), list(rows)) == (False, 0, [])
    rows.add(row(1, loss=4.0))
    rows.add_found(2, found([2, 3], loss=[3.0, 2.0], grad_norm=[0.5, 0.25]))
    rows.add_found(2, found([4]))
    expected = [row(1, loss=4.0), row(2, loss=3.0, grad_norm=0.5), row(3, loss=2.0, grad_norm=0.25), row(4)]
    assert (bool(rows), len(rows), list(rows), list(rows)) == (True, 4, expected, expected)


def test_the_last_row_is_taken_also_from_a_block() -> None:
    rows = StepRows()
    rows.add_found(2, found([2, 3], loss=[3.0, 2.0]))
    assert rows.take_last() == row(3, loss=2.0)
    rows.add(row(3, loss=1.0))
    assert list(rows) == [row(2, loss=3.0), row(3, loss=1.0)]
    assert (rows.take_last(), rows.take_last(), len(rows)) == (row(3, loss=1.0), row(2, loss=3.0), 0)
    with pytest.raises(IndexError):
        rows.take_last()


def test_token_rates_are_filled_in_where_rows_are_looked_at() -> None:
    rows = StepRows(tokens_per_step_per_gpu=50)
    rows.add(row(1, step_time_ms=10.0))
    rows.add_found(2, found([2, 3], step_time_ms=[5.0, 0.0]))
    assert [row["metrics"].get("tokens_per_sec_per_gpu") for row in rows] == [5000.0, 10000.0, None]
    assert rows.take_last() == row(3, step_time_ms=0.0)


def test_rows_of_the_same_kind_are_one_block() -> None:
    rows = StepRows(tokens_per_step_per_gpu=50)
    rows.add_found(2, found([1, 2], step_time_ms=[5.0, 4.0]))
    rows.add(row(3, step_time_ms=2.0))
    rows.add(row(4, step_time_ms=2.0, loss=1.0))
    rows.add({**row(5, step_time_ms=2.0, loss=1.0), "left_out": "why"})
    rows.add(row(6, step_time_ms=2.0, loss=1.0))
    rows.add({**row(7, step_time_ms=2.0, loss=1.0), "attempt": 3})
    rows.add({**row(8, step_time_ms=2.0, loss=1.0), "attempt": 3, "steps_total": None})
    blocks = rows.blocks()
    assert blocks[0] == {
        "attempt": 2,
        "steps": [1, 2, 3],
        "steps_total": 9,
        "metrics": {"step_time_ms": [5.0, 4.0, 2.0], "tokens_per_sec_per_gpu": [10000.0, 12500.0, 25000.0]},
    }
    assert [block["steps"] for block in blocks] == [[1, 2, 3], [4], [5], [6], [7], [8]]
    assert [block.get("left_out") for block in blocks] == [None, None, "why", None, None, None]
    assert list(rows_of(json.loads(json.dumps(blocks)))) == list(rows)
