# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rank others wait for, by dumps of the flight recorder: real ones of Gloo, and made ones as NCCL's are."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from training_logs import WATCHDOG, Node, judged

from ansible_collections.trainops.cluster.plugins.module_utils.node.flight_recorder import recorded_here
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.left_behind import suspects_of_run
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.missing_ranks import missing_ranks

REAL = Path(__file__).parents[2] / "data/flight_recorder"
EVERYBODY = [[0, 4, 1]]


def real() -> dict[int, t.Any]:
    """Return the dumps of four ranks, two ranks a node: rank 3 stays away, see make_dumps.py there."""
    prefix = {"TORCH_NCCL_DEBUG_INFO_TEMP_FILE": f"{REAL}/gloo_rank_"}
    node: t.Any = {"run_folder": str(REAL), "env": prefix}
    return {one["rank"]: one for one in recorded_here(node, ask=False)}


def waits(number: int, operation: str = "all_reduce", **values: t.Any) -> dict[str, t.Any]:
    of_transfer = {"is_transfer": values.get("peer") is not None, "peer": None}
    return {"number": number, "operation": operation, "sizes": "[8]", "started": False, **of_transfer, **values}


def group(entered: int, *pending: t.Any, name: str = "0", members: t.Any = EVERYBODY) -> dict[str, t.Any]:
    described = {"name": name, "description": name, "members": members}
    return {**described, "entered": entered, "pending": list(pending)}


def run(ranks: dict[int, list[t.Any]], silent: tuple[int, ...] = (), per_node: int = 2) -> dict[str, t.Any]:
    """Return by node the observations of a hang whose ranks did that in their groups; ``silent`` ones left no dump."""
    hangs: dict[str, t.Any] = {}
    for rank in sorted({*ranks, *silent}):
        hang = hangs.setdefault(f"gpu{rank // per_node}", {"ranks": [], "recorded": [], "ras": []})
        hang["ranks"].append({"rank": rank, "local_rank": rank % per_node})
        if rank in ranks:
            hang["recorded"].append({"rank": rank, "file": "", "groups": ranks[rank]})
    return hangs


def test_of_real_dumps_the_rank_at_the_end_of_the_chain_is_named() -> None:
    dumps = real()
    hangs: dict[str, t.Any] = {
        "gpu0": {"ranks": [], "recorded": [dumps[0], dumps[1]]},
        "gpu1": {"ranks": [], "recorded": [dumps[2], dumps[3]]},
    }
    found = missing_ranks(hangs)
    assert found.late is not None
    assert (found.late.node, found.late.rank, found.late.who) == ("gpu1", 3, "Rank 3 on gpu1")
    assert "all_reduce 4" in found.late.evidence
    assert len(found.lines) == 3


INSIDE = [group(5, waits(5))]


@pytest.mark.parametrize(
    ("ranks", "named"),
    [
        ({0: INSIDE, 1: INSIDE, 2: INSIDE, 3: [group(4)]}, ("gpu1", 3)),
        # It has not used the group yet: its dump does not have it.
        ({0: INSIDE, 1: INSIDE, 2: INSIDE, 3: []}, ("gpu1", 3)),
        # The CPU runs ahead of the GPU: it means nothing that some have entered the next ones too.
        ({0: [group(7, waits(5), waits(6), waits(7))], 1: INSIDE, 2: INSIDE, 3: [group(4)]}, ("gpu1", 3)),
        # Rank 2 is late here, because it waits for rank 3 in another group.
        (
            {
                0: INSIDE,
                1: INSIDE,
                2: [group(4), group(9, waits(9), name="1", members=[[2, 2, 1]])],
                3: [group(4), group(8, name="1", members=[[2, 2, 1]])],
            },
            ("gpu1", 3),
        ),
        # At number 5, one rank is in another collective, or gives another size.
        ({0: INSIDE, 1: [group(5, waits(5, "broadcast"))], 2: INSIDE, 3: INSIDE}, ("gpu0", 1)),
        ({0: INSIDE, 1: INSIDE, 2: [group(5, waits(5, sizes="[9]"))], 3: INSIDE}, ("gpu1", 2)),
        # If the start is recorded: the GPU of one rank does not reach it.
        (
            {rank: [group(5, waits(5, started=rank != 2))] for rank in range(4)},
            ("gpu1", 2),
        ),
        # A stage of a pipeline waits for the one before.
        (
            {
                0: [group(0)],
                1: [group(0, waits(3, "recv", peer=0))],
                2: [group(0, waits(3, "recv", peer=1))],
                3: [group(0, waits(3, "recv", peer=2))],
            },
            ("gpu0", 0),
        ),
    ],
)
def test_the_rank_that_others_wait_for_and_that_waits_for_nobody_is_named(
    ranks: dict[int, list[t.Any]], named: tuple[str, int]
) -> None:
    late = missing_ranks(run(ranks)).late
    assert late is not None
    assert (late.node, late.rank) == named
    assert not late.evidence.startswith("they are")


@pytest.mark.parametrize(
    "ranks",
    [
        {},
        {0: [group(5)], 1: [group(5)]},
        # All are inside: a link or a GPU delays them.
        {0: INSIDE, 1: INSIDE, 2: INSIDE, 3: INSIDE},
        # Most are absent: then the one that is present may be the odd one.
        {0: INSIDE, 1: [group(4)], 2: [group(4)], 3: [group(4)]},
        # One against one.
        {0: INSIDE, 1: [group(5, waits(5, "broadcast"))]},
        # The sizes of an all-to-all differ as they may.
        {rank: [group(5, waits(5, "all_to_allv", sizes=f"[{rank}]"))] for rank in range(4)},
        # The same amount in another shape.
        {rank: [group(5, waits(5, sizes="[]" if rank == 2 else "[1]"))] for rank in range(4)},
        {rank: [group(5, waits(5, sizes="[8, 2], [1]" if rank == 2 else "[16], []"))] for rank in range(4)},
        # Both ends of a transfer have begun it.
        {0: [group(0, waits(3, "send", peer=1))], 1: [group(0, waits(3, "recv", peer=0))]},
        # Each waits for the other, in different groups.
        {
            0: [group(1, waits(1), name="a", members=[[0, 2, 1]]), group(0, name="b", members=[[0, 2, 1]])],
            1: [group(0, name="a", members=[[0, 2, 1]]), group(1, waits(1), name="b", members=[[0, 2, 1]])],
        },
    ],
)
def test_without_evidence_no_rank_is_named(ranks: dict[int, list[t.Any]]) -> None:
    assert missing_ranks(run(ranks)).late is None


def test_several_ranks_of_a_node_are_named_together_with_their_gpus() -> None:
    inside = [group(5, waits(5), members=[[0, 6, 1]])]
    behind = [group(4, members=[[0, 6, 1]])]
    late = missing_ranks(run({0: inside, 1: inside, 2: behind, 3: behind, 4: inside, 5: inside})).late
    assert late is not None
    assert late.who == "Ranks 2, 3 on gpu1 (GPU 0, 1)"
    assert late.evidence.startswith("they are not in ")


@pytest.mark.parametrize(("silent", "named"), [((3,), True), ((2, 3), False)])
def test_the_only_rank_without_a_dump_may_be_the_one(silent: tuple[int, ...], named: bool) -> None:
    ranks = {rank: INSIDE for rank in range(4) if rank not in silent}
    found = missing_ranks(run(ranks, silent))
    assert found.late is None
    assert (found.silent is not None) is named


def test_a_rank_whose_dump_could_not_be_read_is_not_one_without_a_dump() -> None:
    hangs = run(dict.fromkeys(range(3), INSIDE), silent=(3,))
    hangs["gpu1"]["recorded"].append({"rank": 3, "file": "", "groups": None})
    found = missing_ranks(hangs)
    assert (found.late, found.silent) == (None, None)


def test_spans_of_a_hostile_node_cost_nothing() -> None:
    wide = [[0, 2**20, 2**20], [0, 2**20, 0]]
    ranks = {rank: [group(5, waits(5), name=str(number), members=wide) for number in range(64)] for rank in range(4)}
    assert missing_ranks(run(ranks)).late is None


def hung(name: str, log: str, recorded: list[t.Any], **values: t.Any) -> Node:
    told = {"message": "no log of the run has grown for 60 s", "recorded": recorded}
    return Node(name, log, told=told, **values)


def test_the_verdict_of_a_hang_names_the_rank_and_an_isolation_begins_with_its_node(tmp_path: Path) -> None:
    dumps = real()
    nodes = [
        hung("gpu0", "", [dumps[0], dumps[1]], status="stalled"),
        hung("gpu1", "", [dumps[2], dumps[3]], status="stalled"),
    ]
    summary = judged(nodes, tmp_path)
    first = summary["first_failure"]
    assert (first["node"], first["class"]) == ("gpu1", "stalled")
    assert "Rank 3 on gpu1 holds the others up" in first["message"]
    assert first["origin"] == "node"
    assert any("rank 3 not, on gpu1" in line for line in first["evidence"])
    assert list(suspects_of_run(summary)) == ["gpu1"]


def test_of_a_watchdog_s_timeout_the_rank_that_stayed_away_is_to_blame_not_the_one_that_waited(tmp_path: Path) -> None:
    dumps = real()
    nodes = [
        hung("gpu0", WATCHDOG, [dumps[0], dumps[1]], exit_status=1, seconds=10),
        hung("gpu1", WATCHDOG, [dumps[2], dumps[3]], exit_status=1, seconds=20),
    ]
    summary = judged(nodes, tmp_path)
    first = summary["first_failure"]
    assert (first["node"], first["class"], first["rank"]) == ("gpu1", "watchdog", 3)
    assert "Rank 3 on gpu1 holds the others up" in first["message"]
    assert [echo["node"] for echo in first["echoes"]] == ["gpu0"]
    assert list(suspects_of_run(summary)) == ["gpu1"]
    without = judged([hung(node.name, node.log, [], exit_status=1, seconds=node.seconds) for node in nodes], tmp_path)
    assert without["first_failure"]["node"] == "gpu0"
