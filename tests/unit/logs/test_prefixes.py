# SPDX-License-Identifier: GPL-3.0-or-later
"""The prefixes of launchers and collectors are removed from lines, and their facts are kept."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.clock import seconds_of_rfc3339
from ansible_collections.trainops.cluster.plugins.module_utils.logs.prefixes import (
    PREFIXES,
    Line,
    PrefixReader,
    Told,
    host_named_in,
    prefixes_of,
)

ROWS = {prefix.name: prefix for prefix in PREFIXES}
TIME = b"2026-11-26T10:00:00.123456789Z"


def taken_off(line: bytes, *prefixes) -> Line:
    (found,) = PrefixReader(prefixes).read(line, final=True)
    return found


# By the name of each row, the facts in its sample.
SAID = {
    "containerd and CRI-O": Told(time=TIME),
    "syslog with RFC 3339": Told(host="mi300-0", time=b"2026-11-26T10:00:00.123456+00:00"),
    "RFC 3339": Told(time=TIME),
    "syslog": Told(host="mi300-0"),
    "kubectl logs --prefix": Told(host="train-worker-1"),
    "docker service logs": Told(host="mi300-1", task=2),
    "docker compose": Told(host="node0-1"),
    "mpirun --tag-output": Told(task=12),
    "srun --label": Told(task=12),
    "torchrun --tee": Told(local_rank=0),
    "torchrun --role rank --tee": Told(local_rank=0),
    "pdsh": Told(host="mi300-1"),
    "Primus": Told(rank=8, world=16),
}


@pytest.mark.parametrize("name", ROWS)
def test_each_row_is_recognized_by_its_sample_and_says_what_it_says(name):
    sample = ROWS[name].sample
    assert prefixes_of([sample] * 3) == (ROWS[name],)
    told, text = taken_off(sample, ROWS[name])
    assert told == SAID[name]
    assert text in (b"iteration 1/ 10 |", sample.partition(b":")[2], sample)


@pytest.mark.parametrize(
    ("lines", "names", "text"),
    [
        ([b"3: [default5]:a b"], ["srun --label", "torchrun --tee"], b"a b"),
        ([TIME + b" stdout F [rank0]:[titan] x"], ["containerd and CRI-O", "torchrun --role rank --tee"], b"[titan] x"),
        ([b"[pod/w-0/main] " + TIME + b" x"], ["kubectl logs --prefix", "RFC 3339"], b"x"),
        ([b"\x1b[36mnode0-1  | \x1b[0mx"] * 3, ["docker compose"], b"x"),
        ([b" 0: x", b" 0:", b"10: x"], ["srun --label"], b"x"),
    ],
)
def test_prefixes_stand_around_each_other_and_have_colours(lines, names, text):
    prefixes = prefixes_of(lines)
    assert [prefix.name for prefix in prefixes] == names
    assert taken_off(lines[0], *prefixes).text == text


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [b"", b"  "],
        [b" iteration        1/      10 | consumed samples: 128 |"] * 9,
        [b"completed step: 7, seconds: 2.5, TFLOP/s/device: 120.5, loss: 8.3"] * 9,
        [b"I1126 10:00:00.123456 140 metric_logger.py:181] completed step: 7, seconds: 2.5, loss: 8.3"] * 9,
        [b"Epoch 0:   3%|x| 3/91 [16:05<7:52:06, 321.89s/it, v_num=2, reduced_train_loss=13.40]"] * 9,
        [b"[rank5]: Traceback (most recent call last):", b'[rank5]:   File "a.py", line 3', b"[rank5]: ValueError"] * 9,
        [b"[rank0]:[W1126 10:00:00.1 ProcessGroupNCCL.cpp:5188] Guessing device ID"] * 9,
        [b"mi300-0:4100:4100 [0] NCCL INFO Using network IB"] * 9,
        [b"bash: line 3: torchrun: command not found", b"torchrun: error: argument"],
        [b"INFO: one", b"WARNING: two"] * 9,
        [b"10: one line with a number of its own"] + [b"and many without"] * 9,
        [b"rank0: a", b"rank1: b"] * 9,
        [b"step 3: loss 2", b"step 4: loss 2"] * 9,
    ],
)
def test_what_a_trainer_prints_itself_is_no_prefix(lines):
    assert [prefix.name for prefix in prefixes_of(lines)] == []


def test_a_log_is_read_as_it_grows_a_byte_at_a_time():
    log = b"0: one\n11: two\nno label\n0:\n" + b"0: " + b"x" * 3 + b"\n 1: end"
    whole = list(PrefixReader([ROWS["srun --label"]]).read(log, final=True))
    assert whole == [
        Line(Told(task=0), b"one\n"),
        Line(Told(task=11), b"two\n"),
        Line(Told(), b"no label\n"),
        Line(Told(task=0), b"\n"),
        Line(Told(task=0), b"xxx\n"),
        Line(Told(task=1), b"end"),
    ]
    reader = PrefixReader([ROWS["srun --label"]])
    found = [line for place in range(len(log)) for line in reader.read(log[place : place + 1])]
    assert [*found, *reader.read(b"", final=True)] == whole


def test_a_line_without_an_end_is_of_who_began_it():
    reader = PrefixReader([ROWS["srun --label"]])
    lines = [*reader.read(b"1: " + b"x" * (2 << 20)), *reader.read(b"0: x\n0: y\n")]
    assert [(line.told.task, len(line.text)) for line in lines] == [(1, 2 << 20), (1, 5), (0, 2)]


def test_bars_are_of_who_drew_them_whether_each_has_a_prefix_or_only_the_line():
    lines = PrefixReader([ROWS["srun --label"]]).read(b"0: a\rb\r1: c\r0: d\n1: e\r\n")
    by_task: dict = {}
    for line in lines:
        by_task[line.told.task] = by_task.get(line.told.task, b"") + line.text
    assert by_task == {0: b"a\rb\rd\n", 1: b"c\re\r\n"}


def test_one_line_may_be_most_of_a_log():
    bars = b"\r".join(b"Epoch 0:  3%%|x| %d/91" % step for step in range(91))
    assert [prefix.name for prefix in prefixes_of([b"+ set -x"] * 9 + [b"0: " + bars])] == ["srun --label"]
    assert prefixes_of([b"1: lo: <LOOPBACK>", b"2: eth0: <UP>", b"Epoch 0:  3%|x| 3/91"] + [b"   inet"] * 4) == ()


def test_a_line_that_the_container_runtime_cut_is_one_again():
    prefixes = [ROWS["containerd and CRI-O"]]
    lines = PrefixReader(prefixes).read(TIME + b" stdout P half a \n" + TIME + b" stdout F line\n")
    assert b"".join(line.text for line in lines) == b"half a line\n"


def test_a_line_of_srun_itself_is_of_the_node_that_it_names():
    line = b"srun: error: mi300-1: tasks 8-15: Exited with exit code 1"
    assert taken_off(line, ROWS["srun --label"]) == (Told(host="mi300-1", task=8), line)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        (b"mi300-0:4100:4100 [0] NCCL INFO Using network IB", "mi300-0"),
        (b"[2026-11-26 10:00:00] mi300-0:4100:4103 [0] NCCL WARN x", "mi300-0"),
        (b"[NODE-1(mi300-1)] Starting", "mi300-1"),
        (b"[2026-11-27 10:00:00] [NODE-1(mi300-1)] [INFO] Starting", "mi300-1"),
        (b"localhost:1:1 [0] NCCL INFO x", None),
        (b"text", None),
    ],
)
def test_some_lines_name_the_host_themselves(text, host):
    assert host_named_in(text) == host


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        (b"1970-01-02T00:00:01.5Z", 86401.5),
        (b"1970-01-02T02:00:01,5+02:00", 86401.5),
        (b"1970-01-01T23:30:01-0030", 86401.0),
    ],
)
def test_stamps_with_a_zone_can_be_compared(stamp, seconds):
    assert seconds_of_rfc3339(stamp) == seconds
    with pytest.raises(ValueError, match="no time zone"):
        seconds_of_rfc3339(b"1970-01-02T00:00:01")
