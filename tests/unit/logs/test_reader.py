from __future__ import annotations

import copy
import json
import os
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammar import began_anew
from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log, tail

Answer = dict


def iteration(step: int, total: int = 30, milliseconds: float = 100.0, end: str = "\n") -> bytes:
    return f" iteration {step:8d}/{total:8d} | elapsed time per iteration (ms): {milliseconds:.1f} |{end}".encode()


def steps(answer: Answer) -> list[tuple[int, int]]:
    return [(row["attempt"], row["step"]) for row in answer["rows"]]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "training.log"


def append(log: Path, text: bytes) -> None:
    with log.open("ab") as file:
        file.write(text)


def test_a_log_is_read_into_rows_failures_summary_and_cursor(log: Path) -> None:
    log.write_bytes(b"noise\n" + iteration(1) + iteration(2) + b"got signal: 15\nmem usages: 0.5\n")
    answer = read_log(str(log), "megatron")
    assert list(answer["rows"]) == [
        {"attempt": 1, "step": step, "steps_total": 30, "metrics": {"step_time_ms": 100.0}} for step in (1, 2)
    ]
    assert [failure["class"] for failure in answer["failures"]] == ["sigterm"]
    assert answer["summary"] == {"memory_fraction": 0.5}
    cursor = answer["cursor"]
    assert cursor == json.loads(json.dumps(cursor))
    assert (cursor["offset"], cursor["attempt"], cursor["step"], cursor["steps_seen"], cursor["steps_total"]) == (
        log.stat().st_size,
        1,
        2,
        2,
        30,
    )


def test_each_call_goes_on_where_the_last_one_ended(log: Path) -> None:
    append(log, iteration(1))
    first = read_log(str(log), "megatron")
    append(log, iteration(2) + b"got signal: 15\n")
    second = read_log(str(log), "megatron", first["cursor"])
    third = read_log(str(log), "megatron", second["cursor"])
    assert [steps(answer) for answer in (first, second, third)] == [[(1, 1)], [(1, 2)], []]
    assert [len(answer["failures"]) for answer in (first, second, third)] == [0, 1, 0]
    assert third["cursor"] == second["cursor"]


def test_a_call_leaves_the_callers_cursor_alone(log: Path) -> None:
    append(log, iteration(1))
    cursor = read_log(str(log), "megatron")["cursor"]
    before = copy.deepcopy(cursor)
    append(log, iteration(2))
    read_log(str(log), "megatron", cursor)
    assert cursor == before


def test_a_call_leaves_the_memory_of_the_callers_cursor_alone(log: Path) -> None:
    append(log, b"Config param steps: 5\n")
    cursor = read_log(str(log), "maxtext")["cursor"]
    append(log, b"Config param steps: 6\n")
    assert read_log(str(log), "maxtext", cursor)["cursor"]["memory"]["steps"] == 6
    assert cursor["memory"]["steps"] == 5
    assert read_log(str(log), "maxtext")["cursor"]["memory"]["steps"] == 6


def test_every_split_of_a_log_gives_the_same_rows(log: Path) -> None:
    text = b"\xff noise\r\n" + iteration(1) + iteration(2, end="\r") + iteration(1) + iteration(2)
    expected = [(1, 1), (1, 2), (2, 1), (2, 2)]
    for split in range(len(text) + 1):
        log.write_bytes(text[:split])
        first = read_log(str(log), "megatron")
        append(log, text[split:])
        second = read_log(str(log), "megatron", first["cursor"])
        assert steps(first) + steps(second) == expected, split


def test_a_line_without_end_waits_unless_the_call_is_final(log: Path) -> None:
    log.write_bytes(iteration(1) + iteration(2, end=""))
    waiting = read_log(str(log), "megatron")
    assert steps(waiting) == [(1, 1)]
    assert waiting["cursor"]["offset"] == len(iteration(1))
    final = read_log(str(log), "megatron", waiting["cursor"], final=True)
    assert steps(final) == [(1, 2)]
    assert final["cursor"]["offset"] == log.stat().st_size


def test_a_step_number_that_goes_back_is_a_new_attempt_also_between_calls(log: Path) -> None:
    log.write_bytes(iteration(5) + iteration(6) + iteration(5))
    first = read_log(str(log), "megatron")
    append(log, iteration(6) + iteration(3))
    second = read_log(str(log), "megatron", first["cursor"])
    assert steps(first) == [(1, 5), (1, 6), (2, 5)]
    assert steps(second) == [(2, 6), (3, 3)]


def test_a_doubled_line_is_one_row_with_its_last_values(log: Path) -> None:
    log.write_bytes(
        iteration(1) + b" iteration 1/30 | elapsed time per iteration (ms): 90.0 | lm loss: 2.0 |\n"
        b" iteration 1/30 | lm loss: 3.0 | grad norm: 1"
    )
    answer = read_log(str(log), "megatron", final=True)
    assert [row["metrics"] for row in answer["rows"]] == [{"step_time_ms": 90.0, "loss": 3.0}]


def test_a_line_doubled_between_two_calls_is_no_new_attempt(log: Path) -> None:
    append(log, iteration(1))
    first = read_log(str(log), "megatron")
    append(log, iteration(1) + iteration(2))
    assert steps(read_log(str(log), "megatron", first["cursor"])) == [(1, 1), (1, 2)]


def test_tokens_are_derived_from_the_step_time(log: Path) -> None:
    log.write_bytes(iteration(1, milliseconds=500.0))
    [row] = read_log(str(log), "megatron", tokens_per_step_per_gpu=1000)["rows"]
    assert row["metrics"]["tokens_per_sec_per_gpu"] == 2000.0


def test_tokens_are_derived_from_the_sequences_of_the_whole_job(log: Path) -> None:
    log.write_bytes(b"Epoch 0:   3%|#  | 3/91 [03:00<88:00, 60.00s/it, lr=0.1, throughput=0.5]\n")
    [row] = read_log(str(log), "nxdt", tokens_per_step_per_gpu=7, tokens_per_sequence_per_gpu=100)["rows"]
    assert row["metrics"]["tokens_per_sec_per_gpu"] == 50.0
    [row] = read_log(str(log), "nxdt", tokens_per_step_per_gpu=120)["rows"]
    assert row["metrics"]["tokens_per_sec_per_gpu"] == 2.0


def core_016(step: int) -> bytes:
    return b"[2026-01-02 03:04:05.123456]" + iteration(step)


def test_the_second_step_is_left_out_where_a_restart_brings_megatron_core_016(log: Path) -> None:
    old = b"".join(b"[2026-01-02 03:04:05]" + iteration(step) for step in (1, 2, 3))
    new = b"".join(core_016(step) for step in (1, 2, 3))
    for text, expected in ((old + new, [(2, 2)]), (new + old, [(1, 2)])):
        log.write_bytes(text)
        rows = read_log(str(log), "megatron")["rows"]
        assert [(row["attempt"], row["step"]) for row in rows if "left_out" in row] == expected


def test_the_second_step_of_megatron_core_016_is_left_out_in_every_attempt(log: Path) -> None:
    log.write_bytes(b"".join(core_016(step) for step in (1, 1, 2, 2, 3, 2, 3, 4)))
    left_out = [(row["attempt"], row["step"]) for row in read_log(str(log), "megatron")["rows"] if "left_out" in row]
    assert left_out == [(1, 2), (2, 3)]


@pytest.mark.slow
def test_every_split_of_a_log_leaves_out_the_same_steps(log: Path) -> None:
    text = b"".join(core_016(step) for step in (1, 2, 2, 3, 2, 3))
    for split in range(len(text) + 1):
        log.write_bytes(text[:split])
        first = read_log(str(log), "megatron")
        append(log, text[split:])
        rows = [*first["rows"], *read_log(str(log), "megatron", first["cursor"])["rows"]]
        assert {(row["attempt"], row["step"]) for row in rows if "left_out" in row} == {(1, 2), (2, 3)}, split


def test_what_a_grammar_has_to_know_of_earlier_lines_goes_from_call_to_call(log: Path) -> None:
    append(log, b"Config param steps: 5\ncompleted step: 0, loss: 9.0\n")
    first = read_log(str(log), "maxtext")
    append(log, b"completed step: 1, loss: 8.0\n")
    [row] = read_log(str(log), "maxtext", json.loads(json.dumps(first["cursor"])))["rows"]
    assert (row["step"], row["steps_total"]) == (1, 5)
    assert "asynchronous dispatch" in row["left_out"]
    other = log.with_name("other")
    other.write_bytes(b"completed step: 7, loss: 8.0\n" * 3)
    os.replace(other, log)
    answer = read_log(str(log), "maxtext", first["cursor"])
    assert [(row["attempt"], row["steps_total"]) for row in answer["rows"]] == [(2, None)]


NETWORK = b"n1:1:2 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/%s/0\n"


def test_networks_and_world_size_add_up_from_call_to_call_and_begin_anew_with_another_log(log: Path) -> None:
    append(log, b"using world size: 16, x\n" + NETWORK % b"IB" + iteration(1))
    first = read_log(str(log), "megatron")
    assert (first["transports"], first["world_size"]) == (["NET/IB"], 16)
    cursor = json.loads(json.dumps(first["cursor"]))
    append(log, NETWORK % b"Socket" + NETWORK % b"IB")
    second = read_log(str(log), "megatron", cursor)
    assert (second["transports"], second["world_size"]) == (["NET/IB", "NET/Socket"], 16)
    third = read_log(str(log), "megatron", second["cursor"])
    assert third["transports"] == second["transports"]
    assert first["transports"] == first["cursor"]["transports"] == cursor["transports"] == ["NET/IB"]
    assert read_log(str(log.with_name("none")), "megatron", cursor)["transports"] == ["NET/IB"]
    log.write_bytes(b"another log\n" + NETWORK % b"Socket")
    anew = read_log(str(log), "megatron", third["cursor"])
    assert (anew["transports"], anew["world_size"]) == (["NET/Socket"], None)


MAXTEXT_START = b"Attempting to initialize the jax distributed system for GPU backend...\n", b"Config param steps: 9\n"


@pytest.mark.parametrize("start", [*MAXTEXT_START, b"".join(MAXTEXT_START)])
def test_a_process_of_maxtext_that_goes_on_exactly_where_the_last_one_ended_is_another_attempt(
    start: bytes, log: Path
) -> None:
    text = b"".join(b"completed step: %d, loss: 8.0\n" % step for step in range(3))
    again = b"".join(b"completed step: %d, loss: 7.0\n" % step for step in range(3, 6))
    log.write_bytes(start + text + start + again)
    rows = read_log(str(log), "maxtext")["rows"]
    assert steps({"rows": rows}) == [(1, 0), (1, 1), (1, 2), (2, 3), (2, 4), (2, 5)]
    assert [(row["attempt"], row["step"]) for row in rows if "left_out" in row] == [(1, 0), (1, 1), (2, 3), (2, 4)]
    log.write_bytes(start + text + start)
    first = read_log(str(log), "maxtext")
    append(log, again)
    assert steps(read_log(str(log), "maxtext", first["cursor"])) == [(2, 3), (2, 4), (2, 5)]


MEGATRON_START = b"(min, max) time across ranks (ms):\n    model-and-optimizer-setup .......: (23.15, 32.02)\n"


@pytest.mark.parametrize(
    "start", [MEGATRON_START, b"time (ms) | model-and-optimizer-setup: 23.15\r\n", MEGATRON_START * 2]
)
def test_a_process_of_megatron_that_goes_on_exactly_where_the_last_one_ended_is_another_attempt(
    start: bytes, log: Path
) -> None:
    text, again = (b"".join(map(iteration, steps)) for steps in (range(1, 4), range(4, 6)))
    log.write_bytes(start + text + start + again)
    assert steps(read_log(str(log), "megatron")) == [(1, 1), (1, 2), (1, 3), (2, 4), (2, 5)]
    log.write_bytes(start + text + start)
    first = read_log(str(log), "megatron")
    assert began_anew(first["cursor"])
    append(log, again)
    second = read_log(str(log), "megatron", json.loads(json.dumps(first["cursor"])))
    assert steps(second) == [(2, 4), (2, 5)]
    assert not began_anew(second["cursor"])


def test_a_process_that_has_no_step_yet_begins_a_log_and_does_not_begin_anew(log: Path) -> None:
    log.write_bytes(MEGATRON_START)
    assert not began_anew(read_log(str(log), "megatron")["cursor"])


def test_bars_on_one_line_are_steps(log: Path) -> None:
    bar = b"Epoch 0:   3%%|#  | %d/91 [03:00<88:00, 60.00s/it, reduced_train_loss=%d.0, lr=0.1]"
    log.write_bytes(b"\r".join(bar % (step, step) for step in (1, 1, 2, 3)))
    first = read_log(str(log), "nxdt")
    assert steps(first) == [(1, 1), (1, 2)]
    assert steps(read_log(str(log), "nxdt", first["cursor"], final=True)) == [(1, 3)]


def test_a_log_that_does_not_exist_yet_has_nothing_to_say(log: Path) -> None:
    answer = read_log(str(log), "megatron")
    assert (list(answer["rows"]), answer["failures"], answer["summary"]) == ([], [], {})
    assert answer["cursor"]["offset"] == 0
    append(log, iteration(1))
    assert steps(read_log(str(log), "megatron", answer["cursor"])) == [(1, 1)]


@pytest.mark.parametrize("old", [iteration(1) + iteration(2), iteration(1) + b"x" * 5000 + b"\n" + iteration(2)])
def test_a_log_that_was_replaced_is_read_anew_as_another_attempt(log: Path, old: bytes) -> None:
    log.write_bytes(old)
    cursor = read_log(str(log), "megatron")["cursor"]
    other = log.with_name("other")
    other.write_bytes(b"a new start\n" + iteration(2) + iteration(3) + b"noise\n" * 1000)
    os.replace(other, log)
    answer = read_log(str(log), "megatron", cursor)
    assert steps(answer) == [(2, 2), (2, 3)]
    assert answer["cursor"]["offset"] == log.stat().st_size


def test_a_log_that_was_cut_off_is_read_anew(log: Path) -> None:
    log.write_bytes(iteration(1) + iteration(2))
    cursor = read_log(str(log), "megatron")["cursor"]
    log.write_bytes(b"")
    cursor = read_log(str(log), "megatron", cursor)["cursor"]
    assert (cursor["offset"], cursor["attempt"], cursor["step"]) == (0, 1, 2)
    append(log, iteration(1))
    assert steps(read_log(str(log), "megatron", cursor)) == [(2, 1)]


def test_a_training_whose_log_was_truncated_goes_on_and_did_not_restart(log: Path) -> None:
    log.write_bytes(iteration(1) + iteration(2))
    cursor = read_log(str(log), "megatron")["cursor"]
    log.write_bytes(iteration(3))
    answer = read_log(str(log), "megatron", cursor)
    assert steps(answer) == [(1, 3)]
    append(log, iteration(4))
    assert steps(read_log(str(log), "megatron", answer["cursor"])) == [(1, 4)]


def test_a_log_replaced_before_its_first_step_is_still_the_first_attempt(log: Path) -> None:
    log.write_bytes(b"starting\n")
    cursor = read_log(str(log), "megatron")["cursor"]
    log.write_bytes(b"STARTING\n" + iteration(1))
    assert steps(read_log(str(log), "megatron", cursor)) == [(1, 1)]


def test_a_copy_of_the_log_is_not_taken_for_another(log: Path) -> None:
    log.write_bytes(iteration(1) + iteration(2))
    cursor = read_log(str(log), "megatron")["cursor"]
    copy = log.with_name("copy.log")
    copy.write_bytes(log.read_bytes() + iteration(3))
    assert steps(read_log(str(copy), "megatron", cursor)) == [(1, 3)]


def test_a_log_of_many_chunks_loses_and_doubles_nothing(log: Path) -> None:
    noise = b"noise that fills the log " * 40 + b"\n"
    with log.open("wb") as file:
        for step in range(1, 10001):
            file.write(noise + iteration(step, total=10000))
    answer = read_log(str(log), "megatron")
    assert log.stat().st_size > 10_000_000
    assert steps(answer) == [(1, step) for step in range(1, 10001)]
    assert answer["cursor"]["offset"] == log.stat().st_size


def test_a_call_ends_after_max_bytes_and_the_calls_together_read_all(log: Path) -> None:
    noise = b"noise that fills the log " * 4000 + b"\n"
    with log.open("wb") as file:
        for step in range(1, 101):
            file.write(noise + iteration(step))
    cursor, seen, calls = None, [], 0
    while True:
        answer = read_log(str(log), "megatron", cursor, final=True, max_bytes=1)
        if answer["cursor"] == cursor:
            break
        cursor, calls = answer["cursor"], calls + 1
        seen += steps(answer)
    assert seen == [(1, step) for step in range(1, 101)]
    assert calls > 1


def test_a_line_longer_than_a_chunk_does_not_stop_the_reading(log: Path) -> None:
    log.write_bytes(iteration(1) + b"x" * 9_000_000 + b"\n" + iteration(2))
    assert steps(read_log(str(log), "megatron")) == [(1, 1), (1, 2)]


TRACEBACK = b'Traceback (most recent call last):\n  File "/x/a.py", line 1, in <module>\n'


def test_a_message_of_several_lines_is_not_torn_between_two_calls(log: Path) -> None:
    log.write_bytes(iteration(1) + TRACEBACK)
    first = read_log(str(log), "megatron")
    assert (steps(first), first["failures"]) == ([(1, 1)], [])
    append(log, b"KeyError: 'layers'\n")
    second = read_log(str(log), "megatron", first["cursor"])
    assert [failure["line"] for failure in second["failures"]] == ["KeyError: 'layers'"]


def test_a_message_among_colours_is_not_torn_between_two_calls(log: Path) -> None:
    before = b"\x1b[32mnoise\x1b[0m\n" * 3
    log.write_bytes(before + iteration(1) + b"\x1b[31mnoise\n" + TRACEBACK)
    first = read_log(str(log), "megatron")
    assert first["cursor"]["offset"] == log.stat().st_size - len(TRACEBACK)
    append(log, b"\x1b[0mKeyError: 'layers'\n")
    assert [failure["line"] for failure in read_log(str(log), "megatron", first["cursor"])["failures"]] == [
        "KeyError: 'layers'"
    ]


def test_a_step_that_is_printed_twice_is_left_out_whichever_line_tells_why(log: Path) -> None:
    log.write_bytes(core_016(1) + iteration(2) + core_016(2))
    assert [row["step"] for row in read_log(str(log), "megatron")["rows"] if "left_out" in row] == [2]


def test_a_message_of_several_lines_is_not_torn_between_two_chunks(log: Path) -> None:
    for before in range((4 << 20) - 120, (4 << 20) + 1, 30):
        log.write_bytes(b"x" * (before - 1) + b"\n" + TRACEBACK + b"KeyError: 'layers'\n" + b"y\n" * 100)
        assert [failure["class"] for failure in read_log(str(log), "megatron")["failures"]] == ["python_error"], before


def test_a_message_that_never_ends_does_not_hold_up_the_steps(log: Path) -> None:
    log.write_bytes(TRACEBACK + b"noise\n" * 20000 + iteration(1))
    assert steps(read_log(str(log), "megatron")) == [(1, 1)]


def test_a_final_call_reads_an_open_message_too(log: Path) -> None:
    log.write_bytes(TRACEBACK + iteration(1))
    assert steps(read_log(str(log), "megatron", final=True)) == [(1, 1)]


def test_failures_are_few_of_each_class_over_all_chunks(log: Path) -> None:
    log.write_bytes((b"HW Exception by GPU node-1\n" + b"x" * 3_000_000 + b"\n") * 5)
    assert len(read_log(str(log), "megatron")["failures"]) == 3


def cursor_with(**changes: object) -> dict[str, object]:
    start = {"offset": 0, "fingerprint": 0, "memory": {}, "attempt": 1, "step": None, "steps_seen": 0}
    start |= {"settings": {}, "signs": [], "ranks": [], "conflicts": 0, "starts": {}, "arguments": {}}
    return {**start, "steps_total": None, "transports": [], "world_size": None, **changes}


@pytest.mark.parametrize(
    ("cursor", "message"),
    [
        (
            {"offset": 3},
            r"cursor has the keys \['offset'\], but must have \['arguments', 'attempt', 'conflicts', 'fingerprint',",
        ),
        (cursor_with(offset="3"), r"cursor\.offset is '3', but must be a whole number of at least 0"),
        (cursor_with(offset=-1), r"cursor\.offset is -1"),
        (cursor_with(offset=True), r"cursor\.offset is True"),
        (cursor_with(offset=None), r"cursor\.offset is None"),
        (cursor_with(attempt=0), r"cursor\.attempt is 0, but must be a whole number of at least 1"),
        (cursor_with(step=1.5), r"cursor\.step is 1\.5"),
        (cursor_with(steps_seen=None), r"cursor\.steps_seen is None"),
        (cursor_with(transports=None), r"cursor\.transports is None, but must be a list of strings"),
        (
            cursor_with(transports=["NET/IB", 1]),
            r"cursor\.transports is \['NET/IB', 1\], but must be a list of strings",
        ),
        (cursor_with(signs="x"), r"cursor\.signs is 'x', but must be a list of strings"),
        (cursor_with(settings=[]), r"cursor\.settings is \[\], but must be a dict"),
        (cursor_with(settings={"gpus": 8}), r"cursor\.settings is \{'gpus': 8\}, but must be a dict"),
        (cursor_with(starts=[]), r"cursor\.starts is \[\], but must be a dict"),
        (cursor_with(starts={"node1:77": ["77 "]}), r"cursor\.starts is \{'node1:77': \['77 '\]\}, but must be a dict"),
        (cursor_with(world_size=-1), r"cursor\.world_size is -1"),
        (cursor_with(memory=[]), r"cursor\.memory is \[\], but must be a dict"),
    ],
)
def test_a_cursor_that_is_none_is_refused(log: Path, cursor: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_log(str(log), "megatron", cursor)


@pytest.mark.parametrize("tokens", [0, -1.0, float("nan")])
def test_a_token_count_that_is_not_positive_is_refused(log: Path, tokens: float) -> None:
    with pytest.raises(ValueError, match=r"tokens_per_step_per_gpu is .*, but must be greater than 0"):
        read_log(str(log), "megatron", tokens_per_step_per_gpu=tokens)
    with pytest.raises(ValueError, match=r"tokens_per_sequence_per_gpu is .*, but must be greater than 0"):
        read_log(str(log), "nxdt", tokens_per_sequence_per_gpu=tokens)


def test_an_unknown_framework_is_refused(log: Path) -> None:
    with pytest.raises(ValueError, match="framework is 'x'"):
        read_log(str(log), "x")


def test_a_log_that_cannot_be_read_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_log(str(tmp_path), "megatron")


def test_tail_shows_the_last_lines_as_a_terminal_does(log: Path) -> None:
    log.write_bytes(b"first\nsecond\r\n10%\r50%\r100%\nlast \xff\x1b[0m \n\n")
    assert tail(str(log), 3) == ["second", "100%", "last \N{REPLACEMENT CHARACTER}"]
    assert tail(str(log)) == ["first", "second", "100%", "last \N{REPLACEMENT CHARACTER}"]


def test_tail_of_a_big_log_reads_its_end_only_and_cuts_long_lines(log: Path) -> None:
    log.write_bytes(b"x" * 9000 + b"\n" + b"".join(b"%d %s\n" % (number, b"y" * 1000) for number in range(100)))
    lines = tail(str(log), 1000)
    assert 50 < len(lines) < 70
    assert lines[0].split()[0].isdigit()
    assert {len(line) for line in lines} == {400}


def test_tail_of_one_endless_line(log: Path) -> None:
    log.write_bytes(b"x" * 100_000)
    assert tail(str(log)) == ["x" * 400]


def test_tail_of_no_log(log: Path) -> None:
    assert tail(str(log)) == []
    log.write_bytes(b"\n\n")
    assert tail(str(log)) == []


NXDT_HEAD = "> initializing world size to 128\n"
NXDT_BAR = "Epoch 0:   3%|▎         | 3/91 [03:00<88:00, 60.00s/it, v_num=5, reduced_train_loss=11.80]\n"


def test_a_process_that_begins_after_the_last_bar_is_one_until_its_first(tmp_path: Path) -> None:
    log, cursor, anew = tmp_path / "log", None, []
    for text in (NXDT_HEAD, NXDT_BAR, NXDT_HEAD, NXDT_BAR):
        with log.open("a") as file:
            file.write(text)
        cursor = read_log(str(log), "nxdt", cursor)["cursor"]
        anew.append(began_anew(cursor))
    assert anew == [False, False, True, False]


BEGIN, SETUP, END = (
    "using world size: 8, x\n",
    "[before the start of training step] x\n",
    "[after training is done] x\n",
)


@pytest.mark.parametrize(
    ("texts", "ended"),
    [
        ((BEGIN, SETUP, END), True),
        ((BEGIN, BEGIN, SETUP, END), True),
        ((BEGIN, SETUP, END, BEGIN), False),
        ((BEGIN, SETUP, END, SETUP), False),
        ((BEGIN, SETUP, BEGIN, SETUP, END), True),
        ((BEGIN, SETUP, END, BEGIN, SETUP, END), True),
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_the_end_of_rank_0_is_that_of_its_last_process(
    texts: tuple[str, ...], ended: bool, at_once: bool, tmp_path: Path
) -> None:
    log, cursor = tmp_path / "log", None
    for text in ["".join(texts)] if at_once else texts:
        with log.open("a") as file:
            file.write(text)
        cursor = read_log(str(log), "megatron", cursor)["cursor"]
    assert cursor is not None
    assert ("[after training is done]" in cursor["signs"]) is ended


@pytest.mark.parametrize(
    ("lines", "totals"),
    [
        (((1, 4), (2, 4), (3, 4), (4, 4)), None),
        (((1, 4), (2, 4), (3, 9), (4, 9)), [4.0, 9.0]),
        (((1, 4), (2, 4), (1, 9), (2, 9)), None),
    ],
    ids=["one", "two", "of two attempts"],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_a_total_that_changes_within_an_attempt_is_two_settings(
    lines: tuple[tuple[int, int], ...], totals: list[float] | None, at_once: bool, tmp_path: Path
) -> None:
    log, cursor = tmp_path / "log", None
    texts = [f" iteration {step:8d}/{total:8d} | elapsed time per iteration (ms): 100.0 |\n" for step, total in lines]
    for text in ["".join(texts)] if at_once else texts:
        with log.open("a") as file:
            file.write(text)
        cursor = read_log(str(log), "megatron", cursor)["cursor"]
    assert cursor is not None
    assert cursor["settings"].get("iterations") == totals
