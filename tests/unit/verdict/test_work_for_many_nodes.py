"""What a report takes grows with the nodes, not with their square: calls of functions are counted, not seconds."""

from __future__ import annotations

import sys
import types
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest
from test_write import board_of
from training_logs import ALL, NCCL_ERROR, OUT_OF_MEMORY, Node, lines

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.write import write_report

SIZES = (4, 12, 36)
RDMA = {"NCCL_IB_HCA": "bnxt_re0", "NCCL_DEBUG": "ERROR"}
TRAFFIC = {"traffic": {"bnxt_re0/1": {"sent": 10**12, "received": 10**12}}}


def calls_of(work: Callable[[], t.Any]) -> int:
    """Return how many functions some work calls, those in C as well."""
    calls = 0

    def count(_frame: types.FrameType, event: str, _argument: t.Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def names(count: int) -> list[str]:
    return [f"gpu{number:03}" for number in range(count)]


def healthy(count: int) -> list[Node]:
    return [Node(name, ALL, told=TRAFFIC) for name in names(count)]


def failed(count: int) -> list[Node]:
    first, *others = names(count)
    return [
        Node(first, lines(range(1, 5)) + OUT_OF_MEMORY, exit_status=1),
        *(Node(name, lines(range(1, 5)) + NCCL_ERROR, exit_status=1) for name in others),
    ]


def unequal(count: int) -> list[Node]:
    return [Node(name, lines(range(1, 11), ms=100.0 + 10 * place)) for place, name in enumerate(names(count))]


def never_started(count: int) -> list[Node]:
    return [Node(name, status="unreachable", seconds=None) for name in names(count)]


@pytest.mark.parametrize(
    ("made", "changes"),
    [
        (healthy, {"env": RDMA}),
        (failed, {}),
        (unequal, {"mode": "single_node"}),
        (never_started, {}),
    ],
)
def test_three_times_the_nodes_take_three_times_the_work(
    made: Callable[[int], list[Node]], changes: dict[str, t.Any], tmp_path: Path
) -> None:
    calls = []
    # The first report imports what the others use.
    for size in (2, *SIZES):
        folder = tmp_path / str(size)
        folder.mkdir()
        board = board_of(made(size), folder, **changes)
        calls.append(calls_of(lambda run_dir=board.run_dir: write_report(run_dir, 2)))
    _first, few, more, many = calls
    assert many - more <= 1.02 * 3 * (more - few), calls
