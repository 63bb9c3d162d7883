"""Lines as the format strings of TorchTitan's components/metrics.py make them, 0.2.2 and later."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.ending import end_of_training
from ansible_collections.trainops.cluster.plugins.module_utils.logs.failures import find_failures
from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.torchtitan import parse
from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log

RED, BLUE, RESET = "\x1b[31m", "\x1b[34m", "\x1b[39m"
STARTED = "Trainer is initialized with local batch size 1, global batch size 8, gradient accumulation steps 1, "


def line(
    step: int,
    seconds: float = 0.0,
    loss: float = 7.5,
    *,
    rank: str = "[rank0]:",
    tps: int = 1000,
    memory: float = 40.5,
    mfu: str = "21.50%",
) -> str:
    """Return a step line, this many seconds after 10:00:00."""
    return (
        f"{rank}{titan(seconds)}{RED}step: {step:2}  loss: {loss:8.5f}  grad_norm: {1.25:7.4f}  "
        f"{BLUE}memory: {50.0:5.2f}GiB({memory:.2f}%)  tps: {tps:,}  tflops: {1234.5:,.2f}  mfu: {mfu}{RESET}\n"
    )


def titan(seconds: float) -> str:
    minutes, rest = divmod(round(seconds * 1000), 60_000)
    return f"[titan] 2026-11-26 10:{minutes:02}:{rest // 1000:02},{rest % 1000:03} - root - INFO - "


def said(text: str, seconds: float = 0.0, rank: str = "[rank0]:") -> str:
    return f"{rank}{titan(seconds)}{text}\n"


def steps_of(text: str) -> list[tuple[int, dict[str, float]]]:
    return [(found["step"], found["metrics"]) for found in parse(Piece(text.encode()), {})]


@pytest.mark.parametrize("rank", ["", "[rank0]:", "[default0]:"])
def test_a_step_line_gives_its_values(rank: str) -> None:
    [(step, metrics)] = steps_of(line(12345, 8.25, loss=12.125, tps=12_345, rank=rank))
    assert step == 12345
    clock = metrics.pop("clock")
    assert clock % 60 == 8.25
    assert metrics == {
        "loss": 12.125,
        "grad_norm": 1.25,
        "memory_fraction": pytest.approx(0.405),
        "tokens_per_sec_per_gpu": 12345.0,
        "tflops_per_gpu": 1234.5,
    }


def test_a_line_in_the_prefix_of_primus_is_read_too() -> None:
    text = line(3).replace(titan(0), "[20261126 10:00:05][rank-8/16][INFO    ] [-------metrics.py:462] : ")
    [(step, metrics)] = steps_of(text.replace("[rank0]:", ""))
    assert (step, metrics["loss"], metrics["clock"] % 60) == (3, 7.5, 5.0)


def test_the_time_of_a_step_is_the_mean_since_the_line_before() -> None:
    times = [metrics.get("step_time_ms") for _, metrics in steps_of(line(1, 0) + line(10, 18) + line(20, 48))]
    assert times == [None, 2000.0, 3000.0]


def test_a_utilization_that_is_not_known_and_memory_below_zero_are_no_faults() -> None:
    [(_, metrics)] = steps_of(line(1, mfu="N/A", memory=-0.0))
    assert metrics["memory_fraction"] == 0.0
    assert all(map(math.isfinite, metrics.values()))


def test_a_loss_that_is_not_finite_stays_so() -> None:
    assert math.isnan(steps_of(line(2, loss=math.nan))[0][1]["loss"])
    assert steps_of(line(2, loss=math.inf))[0][1]["loss"] == math.inf
    assert steps_of(line(2, mfu="nan%"))[0][1]["other_fields"] == math.inf


def test_a_stage_that_knows_no_loss_says_none_and_the_last_one_says_it() -> None:
    both = line(10, loss=-1.0) + line(10, loss=3.5, rank="[rank7]:")
    assert [metrics.get("loss") for _, metrics in steps_of(both)] == [None, 3.5]


def test_lines_of_other_ranks_are_no_steps_of_their_own() -> None:
    text = (
        line(1) + line(1, 1, rank="[rank1]:") + line(2, 2) + line(1, 3, rank="[rank2]:") + line(2, 3, rank="[rank2]:")
    )
    assert [step for step, _ in steps_of(text)] == [1, 1, 2, 2]
    assert "step_time_ms" not in steps_of(text)[3][1]


def test_what_is_torn_does_not_count_and_a_validation_is_no_step() -> None:
    whole = line(10)
    assert "tokens_per_sec_per_gpu" not in steps_of(whole[: whole.index(",000  ")])[0][1]
    assert steps_of(said(f"validate step: {10:2}  loss: {7.5:7.4f}  memory: 1.00GiB(2.00%)  tps: 900")) == []


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], t.Any]:
    def read(text: str) -> t.Any:
        log = tmp_path / "train.log"
        log.write_text(text)
        return read_log(str(log), "torchtitan", final=True)

    return read


def test_what_the_trainer_says_of_the_run(read: Callable[[str], t.Any]) -> None:
    mesh = "Building device mesh with parallelism: pp=2, dp_replicate=1, dp_shard=4, cp=1, tp=2, ep=4, etp=1"
    started = said(mesh) + said(f"{STARTED}sequence length 8192, total steps 30 (warmup 2)")
    found = read(started + said("Training starts at step 1") + line(1) + line(10, 9) + line(20, 19) + line(30, 29))
    assert found["settings"] == {
        "gpus": [16.0],
        "pipeline_parallelism": [2.0],
        "context_parallelism": [1.0],
        "tensor_parallelism": [2.0],
        "micro_batch_size": [1.0],
        "global_batch_size": [8.0],
        "sequence_length": [8192.0],
        "iterations": [30.0],
        "begun": [1.0],
        "steps_per_line": [10.0],
    }
    assert {row["steps_total"] for row in found["rows"]} == {30}


def test_version_0_3_says_it_in_tokens(read: Callable[[str], t.Any]) -> None:
    started = (
        "Trainer is initialized with 16384 tokens per DP rank, 131072 tokens per train step, gradient accumulation "
    )
    found = read(said(f"{started}steps 1, maximum context length 2048, total steps 20 (warmup 2)") + line(1))
    assert found["settings"] == {"sequence_length": [2048.0], "iterations": [20.0]}


def test_a_process_that_begins_again_is_another_attempt(read: Callable[[str], t.Any]) -> None:
    first = said("Training starts at step 1") + line(1) + line(10, 9)
    found = read(first + said("Training starts at step 11", 60) + line(20, 80) + line(30, 90))
    assert [(row["attempt"], row["step"]) for row in found["rows"]] == [(1, 1), (1, 10), (2, 20), (2, 30)]
    assert [row["metrics"].get("step_time_ms") for row in found["rows"]] == [None, 1000.0, None, 1000.0]
    assert found["settings"]["begun"] == [1.0, 11.0]


def test_the_first_step_of_an_attempt_is_left_out(read: Callable[[str], t.Any]) -> None:
    rows = list(read(line(1) + line(10, 9) + line(20, 19))["rows"])
    assert [bool(row.get("left_out")) for row in rows] == [True, False, False]


@pytest.mark.parametrize("last", ["Training completed", "Process group destroyed"])
def test_each_rank_says_that_it_is_over(tmp_path: Path, last: str) -> None:
    log = tmp_path / "train.log"
    log.write_text(line(1) + line(10, 9) + said(last, 12))
    assert end_of_training(str(log), "torchtitan")["said_end"]
    log.write_text(line(1) + line(10, 9))
    assert not end_of_training(str(log), "torchtitan")["said_end"]


def test_a_training_that_ran_out_of_data_is_not_over_as_it_should_be(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    ended = said("Training completed", 13) + said("Process group destroyed", 13)
    log.write_text(line(1) + line(10, 9) + said("Ran out of data; last step was canceled.", 12) + ended)
    end = end_of_training(str(log), "torchtitan")
    assert not end["said_end"]
    assert "data" in [failure["class"] for failure in find_failures(Piece(log.read_bytes()))]


@pytest.mark.parametrize(
    ("printed", "class_"),
    [
        # manager.py and parallel_dims.py, at the end of a traceback.
        ("ValueError: Config function 'x' not found in torchtitan.models.llama3.config_registry. ", "settings_refused"),
        ("ImportError: Cannot import config_registry for module 'x' from torchtitan.models", "settings_refused"),
        ("ImportError: Cannot import module 'x.y' or 'x.y.config_registry'. ", "settings_refused"),
        ("ValueError: TrainSpec mixtral is not registered.", "settings_refused"),
        (
            "RuntimeError: Loss or gradient norm is not finite on at least one rank at step 7. Stopping training "
            "before the optimizer update.",
            "nan",
        ),
        ("AssertionError: Invalid parallel dims: dp_replicate(1) * dp_shard(8) * cp(1) * tp(1) * pp(1) !=", "sizes"),
    ],
)
def test_what_torchtitan_refuses_has_its_class(printed: str, class_: str) -> None:
    text = f"[rank0]:Traceback (most recent call last):\n[rank0]:{printed}\n"
    assert class_ in [failure["class"] for failure in find_failures(Piece(text.encode()))]


def test_both_nodes_of_a_run_say_the_same(log_named: Callable[[str], Path]) -> None:
    logs = [
        read_log(str(log_named(f"torchtitan_022_cpu_2nodes_node{node}.log")), "torchtitan", final=True)
        for node in (0, 1)
    ]
    first, second = ([(row["step"], row["metrics"]["loss"]) for row in found["rows"]] for found in logs)
    assert first == second
    assert [step for step, _loss in first] == [1, 3, 6, 9, 12]
    assert all(found["settings"]["gpus"] == [2.0] and not found["conflicts"] for found in logs)
