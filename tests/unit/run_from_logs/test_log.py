from __future__ import annotations

import os
import tracemalloc

import pytest
from logged_runs import OUT_OF_MEMORY, laid_out, maxtext, megatron, nxdt

from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.known import GRAMMARS, UNKNOWN
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.forms import LogFile
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.log import (
    chosen,
    frameworks_of,
    read,
    read_file,
    step_lines,
)

TEXTS = {"megatron": megatron(range(1, 4)), "maxtext": maxtext(range(3)), "nxdt": nxdt(range(1, 4))}


def files_in(folder) -> list[LogFile]:
    return [LogFile(path, path) for path in sorted(folder.iterdir())]


@pytest.mark.parametrize("asked", [None, *sorted(TEXTS)])
def test_the_framework_of_each_log_is_told_from_its_step_lines(tmp_path, asked):
    files = files_in(laid_out(tmp_path, {**{f"{name}.log": text for name, text in TEXTS.items()}, "x.log": "silent\n"}))
    found = {file.path.stem: framework for file, framework in frameworks_of(files, asked).items()}
    assert found == {"megatron": "megatron", "maxtext": "maxtext", "nxdt": "nxdt", "x": None}


def test_of_two_that_read_the_same_step_lines_the_one_counts_whose_own_lines_a_log_has(tmp_path):
    rate = "Step Time : 2.05s GPU utilization: 412.3MODEL_TFLOP/s/GPU\n"
    files = files_in(laid_out(tmp_path, {"a.log": rate + TEXTS["megatron"], "b.log": TEXTS["megatron"]}))
    assert [*frameworks_of(files).values()] == ["megatron_bridge", "megatron"]
    assert [*frameworks_of(files, "megatron").values()] == ["megatron", "megatron"]


UNKNOWN_LINES = [
    "[Rank 0] iteration {}/40 | loss: 2.31 | time: 1.2",
    "step {}/40 | loss 2.3100 | lr 1.00e-04 | step_time 120.0ms | throughput 33.1 samples/s",
    "[2026-01-02 03:04:05,678] [INFO] [logging.py:96:log_dist] [Rank 0] step={}, skipped=0, lr=[1e-05]",
]


@pytest.mark.parametrize("line", UNKNOWN_LINES)
def test_a_log_of_another_trainer_is_of_no_framework_rather_than_of_one_with_lines_that_begin_alike(tmp_path, line):
    text = "".join(f"{line.format(step)}\n" for step in range(1, 10))
    assert [*frameworks_of(files_in(laid_out(tmp_path, {"a.log": text}))).values()] == [None]


def test_a_framework_that_nobody_knows_is_refused(tmp_path):
    with pytest.raises(ValueError, match=f"must be one of: {', '.join(sorted(GRAMMARS))}"):
        frameworks_of(files_in(laid_out(tmp_path, {"node0.log": TEXTS["maxtext"]})), "jax")


def test_it_is_told_what_a_step_line_looks_like():
    lines = " ".join(step_lines(None).values())
    assert all(text in lines for text in ("completed step: N", "iteration N/ TOTAL", "Epoch 0"))
    assert list(step_lines("maxtext")) == ["maxtext"]


def test_of_a_log_without_a_known_framework_only_its_end_tells_a_failure(tmp_path):
    lost = "step 1 of some trainer\n" * 2000
    folder = laid_out(tmp_path, {"survived.log": OUT_OF_MEMORY + lost, "died.log": lost + OUT_OF_MEMORY})
    classes = {
        file.path.stem: [failure["class"] for failure in read_file(file, UNKNOWN, None, None).failures]
        for file in files_in(folder)
    }
    assert classes == {"survived": [], "died": ["out_of_memory"]}


@pytest.mark.parametrize(("steps_behind", "classes"), [(0, ["out_of_memory"]), (2, ["out_of_memory"]), (3, [])])
def test_a_failure_that_three_steps_follow_was_survived(tmp_path, steps_behind, classes):
    text = megatron(range(1, 4)) + OUT_OF_MEMORY + megatron(range(4, 4 + steps_behind))
    log = read(laid_out(tmp_path, {"a.log": text}) / "a.log", "megatron", None, None)
    assert [failure["class"] for failure in log.failures] == classes
    assert (log.last_step, log.steps_total) == (3 + steps_behind, 10)


def test_a_failure_is_found_however_far_in_front_of_the_end(tmp_path):
    noise = ("noise that fills the log " * 45 + "\n") * (65 << 10)
    text = OUT_OF_MEMORY + megatron(range(1, 5)) + "RuntimeError: HIP error: no\n" + noise
    log = read(laid_out(tmp_path, {"a.log": text}) / "a.log", "megatron", None, None)
    assert (len(text) > 64 << 20, [failure["class"] for failure in log.failures]) == (True, ["gpu_error"])


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        (megatron(range(1, 11)) + OUT_OF_MEMORY, ["out_of_memory"]),
        (megatron(range(1, 8)) + OUT_OF_MEMORY + megatron((8, 9, 10)), []),
        (megatron(range(1, 10)) + OUT_OF_MEMORY + megatron((10,)), ["out_of_memory"]),
        (OUT_OF_MEMORY, []),
    ],
    ids=["behind the last step", "in front of three", "in front of one", "no step"],
)
def test_what_failed_behind_the_last_step_is_told_apart(tmp_path, text, classes):
    log = read(laid_out(tmp_path, {"a.log": text}) / "a.log", "megatron", None, None)
    assert [failure["class"] for failure in log.failures_at_end] == classes


def test_steps_that_are_printed_twice_survive_nothing_more(tmp_path):
    twice = "".join(megatron([step]) * 2 for step in (4, 5))
    log = read(
        laid_out(tmp_path, {"a.log": megatron((1, 2, 3)) + OUT_OF_MEMORY + twice}) / "a.log", "megatron", None, None
    )
    assert [failure["class"] for failure in log.failures] == ["out_of_memory"]


def test_what_was_survived_is_found_in_constant_memory_also_in_a_log_of_line_ends(tmp_path):
    size = 4 << 20
    path = laid_out(tmp_path, {"a.log": megatron(range(1, 4)) + OUT_OF_MEMORY + "\n" * size}) / "a.log"
    tracemalloc.start()
    try:
        log = read(path, "megatron", None, None)
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [failure["class"] for failure in log.failures] == ["out_of_memory"]
    assert peak < 6 * size


def test_a_log_tells_that_a_process_began_behind_its_last_step(tmp_path):
    begin = "    model-and-optimizer-setup ...: (1.0, 2.0)\n"
    texts = {"a.log": begin + megatron(range(1, 4)), "b.log": begin + megatron(range(1, 4)) + begin}
    folder = laid_out(tmp_path, texts)
    assert [read(folder / name, "megatron", None, None).began_anew for name in texts] == [False, True]


def test_the_token_rate_is_computed_where_the_config_gives_the_sizes(tmp_path):
    path = laid_out(tmp_path, {"a.log": megatron((1,))}) / "a.log"
    assert read(path, "megatron", 1010, None).blocks[0]["metrics"]["tokens_per_sec_per_gpu"][0] == pytest.approx(10_000)


def test_of_several_files_the_one_that_gets_furthest_is_taken_and_told(tmp_path):
    laid_out(tmp_path / "node0", {"first.log": megatron((1, 2)), "second.log": megatron((1, 2, 3)), "dmesg.log": "x\n"})
    logs = [read(path, "megatron", None, None) for path in sorted((tmp_path / "node0").iterdir())]
    best, why = chosen(logs)
    assert best.path.name == "second.log"
    assert why == "node0: second.log is used because it has the highest step, 3. Not read: dmesg.log, first.log."


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (megatron((1,)), "it is the newest file with step 1"),
        ("x\n", "no file has a step"),
    ],
)
def test_between_files_that_get_as_far_the_last_one_written_is_taken(tmp_path, text, why):
    laid_out(tmp_path / "node0", {"new.log": text, "old.log": text})
    os.utime(tmp_path / "node0/old.log", (1, 1))
    best, told = chosen([read(path, "megatron", None, None) for path in (tmp_path / "node0").iterdir()])
    assert best.path.name == "new.log"
    assert why in told


def test_one_file_needs_no_word(tmp_path):
    log = read(laid_out(tmp_path, {"a.log": megatron((1,))}) / "a.log", "megatron", None, None)
    assert chosen([log]) == (log, None)


def test_control_characters_of_a_log_reach_no_terminal(tmp_path):
    evil = "RuntimeError: a\x1b]0;mine\x07b\x9b2Jc\x08\n"
    failed = f"{TEXTS['megatron']}Traceback (most recent call last):\n{evil}"
    log = read(laid_out(tmp_path, {"node0.log": failed}) / "node0.log", "megatron", None, None)
    assert [failure["line"] for failure in (*log.failures, *log.failures_at_end)] == ["RuntimeError: abc"] * 2
    assert log.last_lines[-1] == "RuntimeError: abc"
