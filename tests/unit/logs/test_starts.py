# SPDX-License-Identifier: GPL-3.0-or-later
"""How often processes began in a log, and the places that no step follows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammar import began_anew
from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log

STEP = " iteration        1/       9 | elapsed time per iteration (ms): 100.0 | lm loss: 7.0E+00 |\n"


def bootstrap(process: int, device: int = 0) -> str:
    return f"n1:{process}:{process} [{device}] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"


def communicator(process: int, name: str, device: int = 0, ranks: str = "nranks 16") -> str:
    return (
        f"n1:{process}:99 [{device}] NCCL INFO ncclCommInitRank comm 0x5{name} rank {device} {ranks} cudaDev {device}"
        f" nvmlDev {device} busId {device + 1}000 commId 0x{name} - Init COMPLETE\n"
    )


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("nothing of NCCL\n", 0),
        (bootstrap(7) + communicator(7, "a") + communicator(7, "b"), 1),
        ("".join(bootstrap(7 + device, device) + communicator(7 + device, "a", device) for device in range(8)), 1),
        (bootstrap(7) * 2 + communicator(7, "a") * 2, 1),
        (bootstrap(7) + communicator(7, "a") + bootstrap(7) + communicator(7, "b"), 2),
        (communicator(7, "a") + communicator(8, "b"), 2),
        (communicator(7, "a", ranks="nRanks 16") + "x\n" + communicator(7, "a", ranks="nRanks 16"), 2),
        ("[before the start of training step] datetime: 1\nx\n[before the start of training step] datetime: 2\n", 2),
        ("    model-and-optimizer-setup ...: (1.0, 1.1)\nx\n    model-and-optimizer-setup ...: (2.0, 2.1)\n", 2),
    ],
    ids=[
        "none",
        "two communicators",
        "eight GPUs",
        "lines twice",
        "same number",
        "other process",
        "again",
        "rank 0",
        "the last rank",
    ],
)
def test_how_often_processes_began(text: str, starts: int, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(text)
    assert read_log(str(tmp_path / "log"), "megatron")["starts"] == starts


def test_what_began_in_two_calls_is_counted_together(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(communicator(7, "a"))
    cursor = read_log(str(log), "megatron")["cursor"]
    log.write_text(communicator(7, "a") + communicator(8, "b"))
    assert read_log(str(log), "megatron", cursor)["starts"] == 2


@pytest.mark.parametrize(("after", "anew"), [("", True), (STEP.replace(" 1/", " 2/"), False)], ids=["end", "a step"])
def test_a_start_that_no_step_follows(after: str, anew: bool, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(communicator(7, "a") + STEP + communicator(8, "b") + after)
    assert began_anew(read_log(str(tmp_path / "log"), "megatron")["cursor"]) is anew


def test_a_process_that_begins_again_and_again_makes_the_cursor_no_longer(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(communicator(1000 + number, "a") for number in range(5000)))
    found = read_log(str(log), "megatron")
    assert found["starts"] == 5000
    assert len(json.dumps(found["cursor"])) < 1000
