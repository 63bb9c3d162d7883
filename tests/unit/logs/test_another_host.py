# SPDX-License-Identifier: GPL-3.0-or-later
"""A log that contains lines of another host."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log


def communicator(host: str, rank: int, name: str = "a") -> str:
    return (
        f"3: {host}:7:9 [0] NCCL INFO ncclCommInitRank comm 0x5 rank {rank} nranks 16 cudaDev 0 nvmlDev 0"
        f" busId 1000 commId 0x{name} - Init COMPLETE\n"
    )


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (communicator("n1", 0) + communicator("n1", 1), []),
        (communicator("n1", 0) + communicator("n1", 0, "b") + communicator("n2", 0, "c"), []),
        (communicator("n1", 0) + communicator("n1", 0, "b") + communicator("n2", 8), ["n2:7"]),
        (communicator("n1", 0) + communicator("n11", 8) + communicator("n3", 9), ["n11:7"]),
    ],
    ids=["two GPUs", "another host took over", "two hosts", "three hosts"],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_a_host_in_the_communicator_of_another_one(text: str, other: list[str], at_once: bool, tmp_path: Path) -> None:
    log, cursor = tmp_path / "log", None
    for part in [text] if at_once else text.splitlines(keepends=True):
        with log.open("a") as file:
            file.write(part)
        cursor = read_log(str(log), "megatron", cursor)["cursor"]
    kind = "NCCL process of another host "
    assert [line[len(kind) :] for line in read_log(str(log), "megatron", cursor)["ranks"] if kind in line] == other
