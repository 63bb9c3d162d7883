from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs._rows import StepBlock, StepRows


def block(steps: list[int], **metrics: list[float]) -> StepBlock:
    return StepBlock(steps, [9] * len(steps), metrics, timer_kept_on=False)


def row(step: int, **metrics: float) -> dict[str, object]:
    return {"attempt": 2, "step": step, "steps_total": 9, "metrics": metrics}


def test_rows_and_blocks_are_told_in_their_order() -> None:
    rows = StepRows()
    assert (bool(rows), len(rows), list(rows)) == (False, 0, [])
    rows.add(row(1, loss=4.0))
    rows.add_block(2, block([2, 3], loss=[3.0, 2.0], grad_norm=[0.5, 0.25]))
    rows.add_block(2, block([4]))
    expected = [row(1, loss=4.0), row(2, loss=3.0, grad_norm=0.5), row(3, loss=2.0, grad_norm=0.25), row(4)]
    assert (bool(rows), len(rows), list(rows), list(rows)) == (True, 4, expected, expected)


def test_the_last_row_is_taken_also_from_a_block() -> None:
    rows = StepRows()
    rows.add_block(2, block([2, 3], loss=[3.0, 2.0]))
    assert rows.take_last() == row(3, loss=2.0)
    rows.add(row(3, loss=1.0))
    assert list(rows) == [row(2, loss=3.0), row(3, loss=1.0)]
    assert (rows.take_last(), rows.take_last(), len(rows)) == (row(3, loss=1.0), row(2, loss=3.0), 0)
    with pytest.raises(IndexError):
        rows.take_last()


def test_token_rates_are_filled_in_where_rows_are_looked_at() -> None:
    rows = StepRows(tokens_per_step_per_gpu=50)
    rows.add(row(1, step_time_ms=10.0))
    rows.add_block(2, block([2, 3], step_time_ms=[5.0, 0.0]))
    assert [found["metrics"].get("tokens_per_sec_per_gpu") for found in rows] == [5000.0, 10000.0, None]
    assert rows.take_last() == row(3, step_time_ms=0.0)
