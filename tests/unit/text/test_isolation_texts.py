"""The message of each finding of an isolation."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.text import slowness
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.isolation import (
    ISOLATION,
    QUARANTINE,
    isolation_finding,
    title_of,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.problems import UNREACHABLE
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.sentences import filled

_SLOW = {"slower_by": 0.3125, "interval": [0.3, 0.33], "probe": "cpu"}
_UNPROVED = {"slower_by": 0.29, "proof": 0.45, "probe": "cpu"}
_AT_SCALE = {"probe": "tcp_groups", "nodes": 8, "than": 4, "slower_by": 0.4}
_FAILS = {**_AT_SCALE, "slower_by": None}
_TOGETHER = {"count": 2, "of": 4, "slower_by": 0.1, "probe": "cpu", "nodes": ["gpu1", "gpu2"], "places": []}
_RUN = {"reason": "nccl: timeout"}
_PROCESSES = [{"pid": 7, "command": "python3 train.py", "user": "alice", "run_id": None}]
_ERRORS = {"fact": "port_errors", "details": [{"counter": "mlx5_0/1 symbol_error", "grown": 12}], "fails": False}
_ON_PORTS = "errors on network ports, which the transport repeated: mlx5_0/1 symbol_error +12"
_OCCUPIED = ", but other processes used it, so nothing is proved about the hardware"
_PEAK = {"model": "H100", "tflops": 1500.4, "precision": "BF16", "probe": "torch_gemm"}
_BELOW_FLOOR = {
    "nodes": ["gpu1", "gpu2"],
    "count": 2,
    "of": 2,
    "model": "H200",
    "probe": "torch_gemm",
    "rate": 300.2,
    "unit": "TFLOP/s",
    "share": 0.303,
    "least": 0.5,
}
_BELOW = "300 TFLOP/s (torch_gemm): 30 % of the maker's peak, and healthy ones reach at least 50 %"
_OF_UNPROVED = {
    "": "took 29.0 % longer both times; on these nodes only 45 % or more is proof",
    "once": "took 29.0 % longer, and isolate_budget left no time for a second test",
    "failed": "failed once, and isolate_budget left no time for a second test",
}
_UNPROVED_WHAT = {"": "gpu1 (cpu)", "link": "The link gpu1–gpu2", "one_way": "The link from gpu1 to gpu2"}
# Code, case and values of a finding, and its message about gpu1.
ROWS: tuple[tuple[str, str, dict[str, t.Any], str], ...] = (
    ("slow", "", {**_SLOW, "part": "gpu 3"}, "gpu1 (gpu 3) is 31.2 % slower (30.0 to 33.0 %)"),
    ("slow", "", {**_SLOW, "interval": [0.3, 0.3001], "part": "all readings"}, "gpu1 (all readings) is 31.2 % slower"),
    ("slow", "link", {**_SLOW, "other": "gpu2"}, "The link gpu1–gpu2 is 31.2 % slower (30.0 to 33.0 %)"),
    ("broken", "", {"part": "cpu", "probe": "cpu"}, "gpu1 (cpu) is broken"),
    ("slow", "one_way", {**_SLOW, "other": "gpu2"}, "The link from gpu1 to gpu2 is 31.2 % slower (30.0 to 33.0 %)"),
    ("broken", "link", {"other": "gpu2", "probe": "tcp"}, "The link gpu1–gpu2 is broken"),
    ("broken", "one_way", {"other": "gpu2", "probe": "tcp"}, "The link from gpu1 to gpu2 is broken"),
    *(
        (
            code,
            "_".join(filter(None, ("occupied", kind))),
            {**_SLOW, "part": "gpu 3", "other": "gpu2"},
            said + _OCCUPIED,
        )
        for code, is_so in (("slow", "is 31.2 % slower (30.0 to 33.0 %)"), ("broken", "is broken"))
        for kind, said in (
            ("", f"gpu1 (gpu 3) {is_so}"),
            ("link", f"The link gpu1–gpu2 {is_so}"),
            ("one_way", f"The link from gpu1 to gpu2 {is_so}"),
        )
    ),
    (
        "occupied",
        "gpus",
        {"processes": _PROCESSES},
        "gpu1 has other processes on its GPUs: python3 train.py (pid 7, alice)",
    ),
    (
        "occupied",
        "cores",
        {"busy": 40.2, "cores": 96, "processes": _PROCESSES},
        "gpu1 has 40 of 96 cores busy with other processes: python3 train.py (pid 7, alice)",
    ),
    ("reported", "", _ERRORS, f"gpu1 reported during its tests: {_ON_PORTS}"),
    (
        "reported",
        "slow",
        {**_ERRORS, **_UNPROVED, "part": "tcp"},
        f"gpu1 (tcp) took 29.0 % longer both times, and reported meanwhile: {_ON_PORTS}",
    ),
    ("fact", "reported", {}, "From its kernel log and its counters, before and after the tests"),
    ("next_steps", "free", {}, "End the other processes on gpu1, or wait for them, and test again before any repair"),
    *(
        ("missing", case, {"part": "GPUs", "gpus": 7, "others": 15, **values}, said)
        for case, values, said in (
            ("others", {"usual": 8}, "gpu1 has 7 GPUs, and 15 others have 8"),
            (
                "others_at",
                {"usual": 8, "missing": ["0000:07:00.0"]},
                "gpu1 has 7 GPUs, and 15 others have 8: 0000:07:00.0 is missing",
            ),
            ("inventory", {"asked": 8}, "gpu1 has 7 GPUs, and the inventory expects 8"),
            ("driver", {"on_bus": 8}, "gpu1 has 8 GPUs on its PCI bus, and its driver sees 7"),
            ("port", {"port": "mlx5_3/1"}, "gpu1 has no RDMA port mlx5_3/1, and 15 others have it"),
            (
                "link",
                {"port": "mlx5_3/1", "state": "DOWN"},
                "The RDMA port mlx5_3/1 of gpu1 is DOWN, and ACTIVE on 15 others",
            ),
            (
                "rate",
                {"port": "mlx5_3/1", "rate": 100.0, "usual": 400.0},
                "The RDMA port mlx5_3/1 of gpu1 runs at 100 Gb/s, and at 400 Gb/s on 15 others",
            ),
        )
    ),
    ("fact", "missing", {}, "Seen before the tests"),
    ("fact", "impossible", {}, "The other readings of that part are not used"),
    (
        "impossible",
        "above_peak",
        {"part": "GPU 3", "rate": 1100.4, "unit": "TFLOP/s", "probe": "torch_gemm", "model": "H200", "peak": 989.4},
        "gpu1 (GPU 3) states 1,100 TFLOP/s (torch_gemm), and the peak of H200 is 989: its readings are not to be "
        "believed",
    ),
    (
        "impossible",
        "too_long",
        {"part": "cpu", "probe": "cpu", "seconds": 7200.0, "limit": 5.0},
        "gpu1 (cpu) states 2 h 0 min (cpu), and that test ends after 5 s: its readings are not to be believed",
    ),
    ("below_floor", "", _BELOW_FLOOR, f"gpu[1-2]: below the floor of H200, {_BELOW}"),
    ("below_floor", "all", _BELOW_FLOOR, f"Both nodes with H200 are below its floor, {_BELOW}"),
    (
        "tested_again",
        "slow",
        {"probe": "cpu", "times": 1.3017, "times_again": 11.0, "beyond": 0.27},
        "cpu takes 1.3 times as long as usual, and more than ten times when tested again against proven nodes, which "
        "is beyond the noise and 27.0 % longer than the last good one",
    ),
    ("tested_again", "broken", {"probe": "tcp", "said": "no route"}, "tcp fails, and again when repeated: no route"),
    *(
        (
            "unproved",
            "_".join(filter(None, (title, known, kind))),
            {**_UNPROVED, "part": "cpu", "other": "gpu2"},
            f"Nothing is proved to be slow, but {what.replace('The', 'the')} {took}" if title else f"{what} {took}",
        )
        for title in ("", "title")
        for known, took in _OF_UNPROVED.items()
        for kind, what in _UNPROVED_WHAT.items()
    ),
    (
        "without_peers",
        "",
        {"model": "EPYC 9654, MI300X"},
        "gpu1 is compared with nothing: too few other nodes have EPYC 9654, MI300X",
    ),
    (
        "without_peers",
        "links",
        {"model": "MI300X, 0x15b3:0x1021"},
        "The links of gpu1 are compared with nothing: too few other nodes have MI300X, 0x15b3:0x1021",
    ),
    (
        "without_peers",
        "pairs",
        {"models": "A – B", "count": 2},
        "2 pairs of A – B are compared with nothing: too few are alike",
    ),
    (
        "next_steps",
        "leave_out",
        {"nodes": ["gpu1", "gpu2"], "command": "drain them"},
        "Leave gpu[1-2] out of trainings until repaired: drain them",
    ),
    (
        "next_steps",
        "cost",
        {"probe": "mean_of_readings", "slower_by": 0.3},
        "A training with gpu1 is slower on all nodes, because each step waits for it: the mean of all readings 30.0 % "
        "longer",
    ),
    (
        "next_steps",
        "link",
        {"other": "gpu2"},
        "Check cables, switch ports and routes between gpu1 and gpu2; either one can train alone",
    ),
    ("next_steps", "test_again", {"command": "isolate"}, "After the repair, test again: isolate"),
    (
        "fleet",
        "",
        {
            "spread": {"cpu": 0.0312, "tcp": 0.5},
            "last": [{"probe": "cpu", "node": "gpu7", "slower_by": 0.07}],
        },
        "Good nodes differ by 3.1 % (cpu), 50.0 % (tcp); the last of them are gpu7 +7.0 % (cpu)",
    ),
    ("unmeasured", "nodes", {"probe": "disk", "said": "no space"}, "disk failed on all nodes: no space"),
    ("unmeasured", "between", {"probe": "tcp", "said": "no route"}, "tcp failed between all nodes: no route"),
    (
        "unmeasured",
        "title",
        {"probes": [{"probe": "disk", "of": "nodes"}, {"probe": "tcp", "of": "between"}]},
        "Nothing is proved to be slow, but disk failed on all nodes, tcp failed between all nodes",
    ),
    ("slow_together", "", _TOGETHER, "2 of 4 nodes are 10.0 % slower than the others (cpu): gpu[1-2]"),
    (
        "slow_together",
        "place",
        {**_TOGETHER, "places": ["rack3"]},
        "2 of the 4 nodes of rack3 are 10.0 % slower (cpu). Check first their power, cooling and switches",
    ),
    (
        "slower_model",
        "",
        {"model": "EPYC 7763", "than": "EPYC 9654", "slower_by": {"cpu": 0.2, "memory": 0.05}},
        "Nodes with EPYC 7763 take longer than nodes with EPYC 9654: 20.0 % (cpu), 5.0 % (memory)",
    ),
    ("slow_at_scale", "", _AT_SCALE, "Groups of 8 nodes are 40 % slower than groups of 4 (tcp_groups)"),
    ("slow_at_scale", "fails", _FAILS, "Groups of 8 nodes fail, and groups of 4 do not (tcp_groups)"),
    (
        "slow_at_scale",
        "title",
        _AT_SCALE,
        "No node is slow, but groups of 8 nodes are 40 % slower than groups of 4 (tcp_groups)",
    ),
    (
        "slow_at_scale",
        "title_fails",
        _FAILS,
        "No node is slow, but groups of 8 nodes fail, and groups of 4 do not (tcp_groups)",
    ),
    (
        "coarse",
        "",
        {},
        "Nothing is proved to be slow, but some differences are too uncertain to call all nodes good",
    ),
    ("good", "", {"nodes": 4}, "All 4 nodes are good"),
    ("good", "one_node", {"nodes": 1}, "The node is good"),
    ("good", "with_links", {"nodes": 2}, "Both nodes and their links are good"),
    ("some_tested", "", {"good": 1, "untested": 2}, "1 node good, 2 not tested"),
    (
        "some_tested",
        "in_doubt",
        {"good": 3, "untested": 1},
        "3 nodes tested without a clear result, 1 not tested",
    ),
    ("none_tested", "", {}, "No node was tested"),
    ("untested", "", {"said": "held by run night-1"}, "gpu1 was not tested: held by run night-1"),
    *(("untested", code, {"said": "ssh said no"}, "gpu1 was not tested: ssh said no") for code in UNREACHABLE),
    ("suspicion", "confirmed", _RUN, "gpu1 was a suspect of the run (nccl: timeout): confirmed"),
    ("suspicion", "not_confirmed", _RUN, "gpu1 was a suspect of the run (nccl: timeout): not confirmed by these tests"),
    ("suspicion", "not_tested", _RUN, "gpu1 was a suspect of the run (nccl: timeout): not tested"),
    ("gpus_untested", "", {}, "GPUs were not tested"),
    (
        "sizes",
        "",
        {
            "probe": "tcp_groups",
            "least": 4,
            "sizes": [
                {"nodes": 8, "slower_by": -0.021},
                {"nodes": 16, "slower_by": None},
                {"nodes": 32, "slower_by": 20.0},
            ],
        },
        "Against groups of 4 nodes: 8 nodes −2.1 %, 16 nodes failed, 32 nodes more than ten times as long (tcp_groups)",
    ),
    (
        "proof",
        "",
        {"least": {"cpu": 0.03, "tcp": 12.0}},
        "Proof that a node is slower begins at 3 % (cpu), more than 1,000 % (tcp)",
    ),
    ("proof", "none", {}, "No measurement proves here that a node is slower"),
    ("peak", "", {**_PEAK, "share": 0.506}, "H100: usually 1,500 TFLOP/s in BF16 (torch_gemm), 51 % of the peak"),
    ("peak", "unknown", _PEAK, "H100: usually 1,500 TFLOP/s in BF16 (torch_gemm)"),
)


@pytest.mark.parametrize(("code", "case", "values", "said"), ROWS)
def test_what_a_finding_says(code: str, case: str, values: dict[str, t.Any], said: str) -> None:
    assert isolation_finding(code, case, "gpu1", **values)["message"] == said


def test_each_finding_is_shown() -> None:
    assert {row[:2] for row in ROWS} == {(code, case) for code, cases in ISOLATION.items() for case in cases}


@pytest.mark.parametrize(
    ("more", "gpus_untested", "said"),
    [
        (0, False, "gpu1 (cpu) is broken"),
        (2, False, "gpu1 (cpu) is broken, and 2 more"),
        (1, True, "gpu1 (cpu) is broken, and 1 more; GPUs were not tested"),
    ],
)
def test_a_title_counts_the_other_suspects(more: int, gpus_untested: bool, said: str) -> None:
    broken = isolation_finding("broken", "", "gpu1", part="cpu")
    assert title_of(broken, more, gpus_untested=gpus_untested) == said


@pytest.mark.parametrize(
    ("by", "said"),
    [
        (0.0, ("0.0 % slower", "0.0 % longer", "0 %", "+0.0 %")),
        (10.0, ("1000.0 % slower", "1000.0 % longer", "1000 %", "+1000.0 %")),
        (10.01, ("more than ten times slower", "more than ten times as long", *(2 * ["more than 1,000 %"]))),
    ],
)
def test_no_percentage_is_above_1000(by: float, said: tuple[str, ...]) -> None:
    assert (slowness.slower(by), slowness.longer(by), slowness.at_most(by), slowness.signed(by)) == said


def test_a_change_that_rounds_to_nothing_has_no_minus() -> None:
    assert [slowness.signed(by) for by in (-0.0001, -0.021)] == ["0.0 %", "−2.1 %"]


@pytest.mark.parametrize(
    ("low", "high", "said"), [(0.3, 0.33, " (30.0 to 33.0 %)"), (9.0, 11.0, " (at least 900.0 %)"), (10.5, 30.0, "")]
)
def test_an_interval_ends_at_1000_percent(low: float, high: float, said: str) -> None:
    assert slowness.bounds([low, high]) == said


HELD = {
    "run_id": "night-1",
    "since": "2026-11-21",
    "reason": "killed: x",
    "isolation": "sweep-1",
    "until": "2026-11-28",
}


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("run", "it made run night-1 fail at 2026-11-21 (killed: x)"),
        ("isolation", "isolation sweep-1 found on 2026-11-21 that killed: x; it is held until 2026-11-28"),
        ("isolation_without_end", "isolation sweep-1 found on 2026-11-21 that killed: x; it is held without an end"),
    ],
)
def test_why_a_host_is_in_quarantine(case: str, said: str) -> None:
    assert filled(QUARANTINE["held"][case].one, HELD) == said
