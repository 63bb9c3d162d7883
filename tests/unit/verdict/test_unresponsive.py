# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that do not answer to NCCL's RAS, by the reports in NCCL's guide."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from training_logs import Node, judged

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.hung_ranks import unresponsive
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.named_nodes import NodeNames

ADDRESSES = ["172.16.64.210", "172.16.64.213"]
PLANNED: t.Any = [{"node": f"gpu{place}", "address": address} for place, address in enumerate(ADDRESSES)]
NODES = NodeNames(PLANNED)
PROCESS = "  Process 3487984 on node 172.16.64.213 managing GPU 5"
OF_COMMUNICATOR = [
    "#0-0 (cf264af53edbe986) INCOMPLETE",
    "  Missing communicator data from 1 rank",
    "  The missing rank: 21",
]
STOPPED = ["Errors", "INCOMPLETE", "  Missing communicator data from 1 job process", PROCESS, *OF_COMMUNICATOR]
DEAD = ["Errors", "DEAD", "  1 job process is considered dead (unreachable via the RAS network)", PROCESS]
# As the guide says, this may pass: a rank is only one operation behind.
MISMATCH = [
    "Warnings",
    "#0-0 (27a079b828ff1a75) MISMATCH",
    "  Communicator ranks have different collective operation counts",
    "  Rank 0 -- GPU 0 managed by process 483072 on node 172.16.64.210",
]
ELSEWHERE = PROCESS.replace("213", "99")


@pytest.mark.parametrize("report", [STOPPED, DEAD, [line.strip() for line in STOPPED]])
def test_the_node_and_gpu_of_a_process_that_does_not_answer_are_named(report: list[str]) -> None:
    found, lines = unresponsive([{"ranks": [], "recorded": [], "ras": report}], NODES)
    assert found is not None
    assert (found.node, found.rank, found.who) == ("gpu1", None, "GPU 5 of gpu1")
    assert len(lines) == len(report)


@pytest.mark.parametrize(
    "report",
    [
        [],
        MISMATCH,
        # On several nodes, or on none of the run.
        [*DEAD, PROCESS.replace("213", "210")],
        [*DEAD[:-1], ELSEWHERE],
        # Below another title.
        ["Errors", "OTHER", PROCESS],
    ],
)
def test_nobody_is_named_without_that(report: list[str]) -> None:
    assert unresponsive([{"ranks": [], "recorded": [], "ras": report}], NODES)[0] is None


def test_the_verdict_of_a_hang_names_it_and_shows_the_report(tmp_path: Path) -> None:
    def first_of(report: list[str]) -> dict[str, t.Any]:
        told = {"message": "no log of the run has grown for 60 s"}
        nodes = [
            Node("gpu0", status="stalled", told={**told, "ras": report}),
            Node("gpu1", status="stalled", told=told),
        ]
        return judged(nodes, tmp_path, addresses=ADDRESSES)["first_failure"]

    first = first_of(STOPPED)
    assert (first["node"], first["rank"]) == ("gpu1", None)
    assert "GPU 5 of gpu1 holds the others up" in first["message"]
    assert any("The missing rank: 21" in line for line in first["evidence"])
    assert first_of(MISMATCH)["origin"] == "unknown"
