"""The rank that delays a hanging run: proven by evidence, or not mentioned at all."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.contracts import Status
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.status import status_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.hung_ranks import lagging

WAITS = ["all_reduce (torch/distributed/distributed_c10d.py:2501)", "step (train.py:80)"]
LOADS = ["__next__ (torch/utils/data/dataloader.py:630)", "step (train.py:71)"]


def rank(number: int, **changes) -> dict:
    return {"rank": number, "state": "S", "waits_in": None, "busy": 1.0, "stack": None} | changes


def run(*ranks: dict, per_node: int = 2, steps: tuple = ()) -> list[Status]:
    nodes = [list(ranks[place : place + per_node]) for place in range(0, len(ranks), per_node)]
    last = [*steps, *[None] * len(nodes)]
    return [
        status_of({"node": f"gpu{number}", "status": "stalled", "ranks_seen": seen, "last_step": last[number]})
        for number, seen in enumerate(nodes)
    ]


def test_the_node_whose_log_is_a_step_behind_all_others():
    found = lagging(run(rank(0), rank(1), rank(2), per_node=1, steps=(13, 12, 14)))
    assert found == ("gpu1", None, "its last step is 12; every other node reached 13 or later")


@pytest.mark.parametrize(
    ("state", "named"),
    [
        ("T", ("gpu1", 1, "it is stopped by a signal (1 of 3 ranks)")),
        ("D", ("gpu0", None, "its last step is 12; every other node reached 13 or later")),
    ],
    ids=["stopped", "in the kernel"],
)
def test_a_rank_that_is_stopped_says_more_than_a_log_a_step_behind_and_that_more_than_a_wait(state, named):
    assert lagging(run(rank(0), rank(1, state=state), rank(2), per_node=1, steps=(12, 13, 13))) == named


@pytest.mark.parametrize("steps", [(13, 13), (13, None)], ids=["all are at one step", "one prints no steps"])
def test_steps_that_name_nobody(steps):
    assert lagging(run(rank(0), rank(1), per_node=1, steps=steps)) is None


@pytest.mark.parametrize(
    ("odd", "evidence"),
    [
        ({"state": "T"}, "it is stopped by a signal (1 of 4 ranks)"),
        (
            {"state": "D", "waits_in": "nfs_wait_bit_killable"},
            "it waits in the kernel in nfs_wait_bit_killable (1 of 4 ranks)",
        ),
        ({"stack": LOADS}, f"it is in {LOADS[0]}, while most of the 4 ranks are in {WAITS[0]}"),
        ({"busy": 0.0}, "it uses 0 % of a processor, while most of the 4 ranks use about 100 %"),
    ],
    ids=["state", "kernel", "stack", "load"],
)
def test_a_rank_that_does_not_wait_as_the_others_do(odd, evidence):
    ranks = [rank(number, stack=WAITS if "stack" in odd else None) for number in range(4)]
    ranks[3] |= odd
    assert lagging(run(*ranks)) == ("gpu1", 3, evidence)


def test_ranks_on_different_lines_of_one_wait_are_alike():
    others = [rank(number, stack=[WAITS[0].replace("2501", str(number)), WAITS[1]]) for number in range(4)]
    assert lagging(run(*others)) is None


@pytest.mark.parametrize(
    "ranks",
    [
        [],
        [rank(0), rank(1)],
        [rank(0, busy=0.0), rank(1)],
        [rank(0, stack=WAITS), rank(1, stack=LOADS)],
        [rank(0, state="D"), rank(1, state="D"), rank(2, state="D"), rank(3)],
    ],
    ids=["nothing was seen", "all alike", "half idle", "half elsewhere", "most in the kernel"],
)
def test_where_nobody_stands_out_nobody_is_named(ranks):
    assert lagging(run(*ranks)) is None


@pytest.mark.parametrize("ahead", [21, 20_000])
def test_steps_that_cannot_have_been_taken_make_no_other_node_lag(ahead):
    assert lagging(run(rank(0), rank(1), per_node=1, steps=(ahead, 13)), 20 if ahead < 100 else None) is None
