# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines as training_log() of Megatron Bridge makes them: Step Time of rank 0, the iteration of the last rank."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.ending import end_of_training
from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.megatron_bridge import parse, parse_many
from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log

FRAMEWORK = "megatron_bridge"


def rate(seconds: float, tflops: float, prefix: str = "") -> str:
    return f"{prefix}Step Time : {seconds:.2f}s GPU utilization: {tflops:.1f}MODEL_TFLOP/s/GPU\n"


def iteration(step: int, ms: float, throughput: float | None = None, prefix: str = "") -> str:
    own = "" if throughput is None else f" throughput per GPU (TFLOP/s/GPU): {throughput:.1f} |"
    return (
        f"{prefix} [2026-08-24 10:00:{step:02d}] iteration {step:8d}/{50:8d} | consumed samples: {step * 128:12d} | "
        f"elapsed time per iteration (ms): {ms:.1f} |{own} learning rate: {3e-6:.6E} | global batch size: {128:5d} | "
        f"lm loss: {10.5:.6E} | loss scale: {1.0:.1f} | grad norm: {2.5:.3f} | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    )


def rates_of(text: str, *more: str) -> list[tuple[int, float | None]]:
    """Return the rate of each step; more texts are later parts of the same log."""
    memory: dict[str, t.Any] = {}
    found = [step for part in (text, *more) for step in parse(Piece(part.encode()), memory)]
    return [(step["step"], step["metrics"].get("tflops_per_gpu")) for step in found]


@pytest.mark.parametrize("prefix", ["", "0: ", "node1 | "])
def test_a_step_takes_the_rate_of_the_line_before(prefix: str) -> None:
    text = rate(2.05, 412.3, prefix) + iteration(1, 2053.4, prefix=prefix) + rate(2.04, 414.1, prefix)
    assert rates_of(text + iteration(2, 2041.0, prefix=prefix)) == [(1, 412.3), (2, 414.1)]


def test_a_rate_in_the_iteration_itself_counts() -> None:
    assert rates_of(rate(2.05, 1.0) + iteration(1, 2053.4, 412.3)) == [(1, 412.3)]
    assert rates_of(iteration(1, 2053.4, 412.3)) == [(1, 412.3)]


def test_a_rate_of_another_time_is_not_of_that_step() -> None:
    assert rates_of(rate(2.05, 412.3) + iteration(1, 2100.0)) == [(1, None)]
    assert rates_of(rate(2.05, 412.3) + iteration(1, 2050.0) + iteration(2, 2050.0)) == [(1, 412.3), (2, None)]


def test_a_torn_rate_is_none() -> None:
    assert rates_of("Step Time : 2.05s GPU utilization: 412\n" + iteration(1, 2053.4)) == [(1, None)]


def test_the_two_lines_may_come_one_after_the_other() -> None:
    assert rates_of(rate(2.05, 412.3), iteration(1, 2053.4), iteration(2, 2053.4)) == [(1, 412.3), (2, None)]


def test_lines_with_their_own_rate_are_read_many_at_once() -> None:
    piece = Piece((iteration(1, 2050.0, 400.0) + iteration(2, 2050.0, 401.0)).encode())
    many = parse_many(piece, {})
    assert many is not None
    assert [list(found.steps) for found in many] == [[1, 2]]
    assert parse_many(Piece(rate(2.05, 412.3).encode()), {}) is None


def test_a_run_on_two_nodes(log_named: Callable[[str], Path]) -> None:
    first, last = (
        read_log(str(log_named(f"megatron_bridge_060_h100_2nodes_node{node}.log")), FRAMEWORK, final=True)
        for node in (0, 1)
    )
    assert list(first["rows"]) == []
    assert first["settings"]["tensor_parallelism"] == [1]
    rows = list(last["rows"])
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert (rows[-1]["metrics"]["tflops_per_gpu"], rows[-1]["metrics"]["loss"]) == (406.9, 10.6613)
    assert not first["failures"] + last["failures"]


def test_a_run_on_one_node_has_its_rates_from_step_time(log_named: Callable[[str], Path]) -> None:
    news = read_log(str(log_named("megatron_bridge_060_h100_1node.log")), FRAMEWORK, final=True)
    assert [row["metrics"]["tflops_per_gpu"] for row in news["rows"]] == [88.2, 402.2, 406.6, 407.3, 406.2, 406.9]


def test_pieces_of_a_log_give_the_same_as_the_whole(log_named: Callable[[str], Path]) -> None:
    path = log_named("megatron_bridge_060_h100_1node.log")
    whole, cursor, rows = list(read_log(str(path), FRAMEWORK, final=True)["rows"]), None, []
    for _part in range(60):
        news = read_log(str(path), FRAMEWORK, cursor, max_bytes=300, final=True)
        rows += list(news["rows"])
        cursor = news["cursor"]
    assert [row["metrics"] for row in rows] == [row["metrics"] for row in whole]


def test_a_recipe_that_is_not_there_is_a_setting_that_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(
        "Traceback (most recent call last):\n"
        '  File "/opt/Megatron-Bridge/scripts/training/run_recipe.py", line 510, in <module>\n'
        "    main()\n"
        "AttributeError: Recipe 'llama9_config' not found in megatron.bridge.recipes or megatron.bridge.perf_recipes.\n"
    )
    failures = read_log(str(log), FRAMEWORK, final=True)["failures"]
    assert [failure["class"] for failure in failures] == ["settings_refused"]


def test_the_end_of_the_training_is_said_by_the_first_rank(log_named: Callable[[str], Path]) -> None:
    path = log_named("megatron_bridge_060_h100_2nodes_node0.log")
    assert end_of_training(str(path), FRAMEWORK)["said_end"]
