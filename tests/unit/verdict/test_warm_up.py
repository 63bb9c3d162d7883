# SPDX-License-Identifier: GPL-3.0-or-later
"""Which first steps are warm-up."""

from __future__ import annotations

import typing as t

import numpy as np
import pytest
from training_logs import columns, row

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.warm_up import parse_warm_up, warm_up_of


def rows(times: t.Iterable[float], left_out: t.Collection[int] = (), metric: str = "step_time_ms") -> t.Any:
    """Return the steps of an attempt with these times, some of them left out by the grammar."""
    made = [row(step, **{metric: float(value)}) for step, value in enumerate(times, start=1)]
    return columns(*({**one, "left_out": "Compiled."} if one["step"] in left_out else one for one in made))


def noisy(count: int, level: float = 100.0, seed: int = 1) -> list[float]:
    return list(level + np.random.default_rng(seed).normal(0, 1, count))


@pytest.mark.parametrize(
    ("times", "steps"),
    [
        (noisy(40), 0),
        ([60_000.0, *noisy(40)], 1),
        ([60_000.0, 300.0, 150.0, *noisy(40)], 3),
        # Kernels are tuned while the training runs: slow steps with fast ones between them.
        ([900.0, 100.0, 800.0, 101.0, 700.0, *noisy(40)], 5),
        # Clocks settle slowly.
        ([*np.linspace(200, 100, 11)[:-1], *noisy(40)], 10),
        # A slow step in the middle is not warm-up.
        ([500.0, *noisy(10), 900.0, *noisy(30)], 1),
        # Nor is one among the last.
        ([500.0, *noisy(30), 900.0, 900.0], 1),
        ([100.0] * 30, 0),
    ],
    ids=["none", "compile", "three", "tuning", "ramp", "outlier", "late", "constant"],
)
def test_the_warm_up_ends_where_the_pace_is_that_of_the_second_half(times: list[float], steps: int) -> None:
    found = warm_up_of(None, {"gpu00": rows(times)})
    assert abs(found.steps - steps) <= (1 if steps == 10 else 0)
    assert (found.detected, found.steady) == (True, True)


def test_steps_that_take_no_time_have_no_pace_that_a_warm_up_is_off() -> None:
    assert warm_up_of(None, {"gpu00": rows([*noisy(4), *[0.0] * 30])}).apart == 0


def test_the_reason_tells_where_and_how_fast() -> None:
    found = warm_up_of(None, {"gpu00": rows([100.0] * 20), "gpu01": rows([5000.0, 300.0, *[100.0] * 20])})
    assert found.steps == 2
    times = {"first": {"value": 5000.0, "unit": "ms"}, "steady": {"value": 100.0, "unit": "ms"}}
    assert (found.case, found.values) == ("of_node", {"steps": 2, "slowest": "gpu01", **times})
    assert found.in_summary()["reason"] == (
        "Warm-up: first 2 steps not counted (5,000 ms on gpu01, then a steady 100 ms)."
    )


def test_throughput_tells_the_pace_where_there_is_no_step_time() -> None:
    found = warm_up_of(None, {"gpu00": rows([3.0, 40.0, *[400.0] * 20], metric="tflops_per_gpu")})
    assert found.steps == 2


def test_steps_that_the_grammar_leaves_out_are_not_looked_at_and_counted_as_rows() -> None:
    assert warm_up_of(None, {"gpu00": rows([9e9, 1.0, *[100.0] * 20], left_out=(1, 2))}).steps == 0
    assert warm_up_of(None, {"gpu00": rows([9e9, 1.0, 500.0, *[100.0] * 20], left_out=(1, 2))}).steps == 3


def test_an_earlier_attempt_has_no_part_in_the_pace() -> None:
    times = [500.0, 300.0, *[100.0] * 20]
    again = (row(step, attempt=2, step_time_ms=time) for step, time in enumerate(times, start=1))
    assert (
        warm_up_of(None, {"gpu00": columns(*(row(step, step_time_ms=9e9) for step in range(1, 41)), *again)}).steps == 2
    )


def test_a_pace_that_never_settles_is_told_and_half_of_the_steps_are_left_out() -> None:
    found = warm_up_of(None, {"gpu00": rows([*np.linspace(500, 300, 20), *[100.0] * 20])})
    assert (found.steps, found.steady) == (20, False) or found.steps == 20
    drifting = warm_up_of(None, {"gpu00": rows([*[500.0] * 21, *[100.0] * 19])})
    assert (drifting.steps, drifting.steady) == (20, False)
    assert (drifting.code, drifting.values["nodes"]) == ("not_steady", ["gpu00"])


@pytest.mark.parametrize("count", [0, 1, 11])
def test_too_few_steps_are_not_looked_at(count: int) -> None:
    found = warm_up_of(None, {"gpu00": rows([100.0] * count)})
    assert (found.steps, found.detected) == (2, False)
    assert (found.case, found.values["printed"]) == ("assumed", count)


def test_values_that_are_not_finite_tell_no_pace() -> None:
    assert warm_up_of(None, {"gpu00": rows([float("nan"), 500.0, *[100.0] * 20])}).steps == 2


def test_what_is_asked_for_is_taken() -> None:
    found = warm_up_of(5, {"gpu00": rows([100.0] * 30)})
    assert (found.steps, found.detected) == (5, False)
    assert (found.case, found.values) == ("asked", {"steps": 5})


@pytest.mark.parametrize("asked", [25, None])
def test_how_far_the_steps_left_out_are_off_is_told_whoever_chose_them(asked: int | None) -> None:
    slow = asked or 15
    found = warm_up_of(asked, {"gpu00": rows([*[170.0] * slow, *[100.0] * (40 - slow)]), "gpu01": rows([100.0] * 40)})
    assert (found.steps, found.apart) == (slow, pytest.approx(0.7))


@pytest.mark.parametrize(("asked", "steps"), [("auto", None), ("", None), (" auto ", None), (3, 3), ("3", 3), ("0", 0)])
def test_a_number_or_auto_may_be_asked_for(asked: t.Any, steps: int | None) -> None:
    assert parse_warm_up(asked) == steps


@pytest.mark.parametrize("asked", ["-1", "two", 1.5, None])
def test_anything_else_is_refused(asked: t.Any) -> None:
    with pytest.raises(ValueError, match=r"warmup_steps is .*, but must be auto or a whole number, 0 or more"):
        parse_warm_up(asked)
