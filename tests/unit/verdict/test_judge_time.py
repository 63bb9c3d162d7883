from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from training_logs import SILENT, STARTED_AT, Node, columns, judged, line, row

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.frame import attempts_of, steps_frame
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.judge_time import times_spent

NODES = [{"node": "gpu00", "node_rank": 0}]


def test_a_time_stamp_that_is_no_finite_number_is_none():
    stamps = [*(1e9 + 2.0 * place for place in range(19)), math.inf]
    rows = [row(step, step_time_ms=2000.0, clock=stamp) for step, stamp in enumerate(stamps, start=1)]
    last, _earlier = attempts_of(steps_frame(NODES, {"gpu00": columns(*rows)}, 0))
    assert times_spent(last, bars=False)["gpu00"]["wall_clock"] == 2000.0


@pytest.mark.parametrize(
    ("bounds", "changes", "says"),
    [
        ([], {"record_only": True}, True),
        ([], {"record_only": True, "rehearsal": {"framework": "megatron"}}, False),
        ([{"metric": "step_time_ms", "kind": "max", "value": 110.0}], {}, True),
        ([{"metric": "step_time_ms", "kind": "max", "value": 190.0}], {}, False),
    ],
    ids=["without thresholds", "in a rehearsal", "a threshold that does not hold then", "one that does"],
)
def test_a_run_whose_steps_get_slower_needs_a_threshold_that_holds_for_the_last_ones(
    bounds, changes, says, tmp_path: Path
):
    times = [100.0] * 16 + [140.0] * 4
    log = "".join(line(step, 20, ms=ms) for step, ms in enumerate(times, 1))
    plan = {"parameters": {"iterations": 20}, "expected": bounds, **changes}
    summary = judged([Node("gpu00", SILENT), Node("gpu01", log)], tmp_path, **plan)
    assert ("slows_down" in [reason["code"] for reason in summary["reasons"]]) is says


@pytest.mark.parametrize(("fall", "is_noted"), [(0.05, True), (0.0, False), (0.02, False)])
def test_a_rate_that_falls_steadily_is_a_note(fall, is_noted, tmp_path: Path):
    times = [100.0 * (1 + fall * step / 60) + 0.3 * (-1) ** step for step in range(60)]
    log = "".join(line(step, 60, ms=ms) for step, ms in enumerate(times, 1))
    nodes = [Node("gpu00", SILENT), Node("gpu01", log)]
    summary = judged(nodes, tmp_path, parameters={"iterations": 60}, expected=[], record_only=True)
    noted = [note["case"] for note in summary["notes"] if note["code"] == "slows_down"]
    assert (noted, summary["verdict"]) == (["steadily"] * is_noted, "PASS")


@pytest.mark.parametrize(
    ("ran", "verdict"), [(0.06, "INCONCLUSIVE"), (1.2, "INCONCLUSIVE"), (1.8, "PASS"), (None, "PASS")]
)
def test_steps_cannot_take_longer_than_the_training_ran_by_the_clock_of_its_node(ran, verdict, tmp_path: Path):
    # 20 steps of 0.1 s: to the end of the log, and with exit status 0.
    log = "".join(line(step, 20, loss=9 - step / 10) for step in range(1, 21))
    told = {} if ran is None else {"ran_seconds": ran}
    summary = judged([Node("gpu00", SILENT), Node("gpu01", log, told=told)], tmp_path, parameters={"iterations": 20})
    assert summary["verdict"] == verdict
    found = [reason for reason in summary["reasons"] if reason["code"] == "longer_than_run"]
    assert [reason["node"] for reason in found] == ["gpu01"] * (verdict != "PASS")
    assert [reason["values"]["ran"] for reason in found] == [ran] * len(found)


@pytest.mark.parametrize(("ran", "verdict"), [(30.0, "PASS"), (10.0, "INCONCLUSIVE")])
def test_the_time_of_a_line_is_that_of_each_of_its_steps(ran, verdict, tmp_path: Path):
    # 20 of 40 steps count, in two lines, each of which took 1 s.
    log = "  log_interval .................................... 10\n"
    log += "".join(line(step, 40, ms=1000.0, loss=9 - step / 10) for step in (10, 20, 30, 40))
    nodes = [Node("gpu00", SILENT), Node("gpu01", log, told={"ran_seconds": ran})]
    summary = judged(nodes, tmp_path, parameters={"iterations": 40})
    assert summary["verdict"] == verdict
    found = [reason["values"] for reason in summary["reasons"] if reason["code"] == "longer_than_run"]
    assert found == ([] if verdict == "PASS" else [{"claimed": 20.0, "ran": ran, "steps": 20}])


def test_bars_tell_by_their_time_stamps_that_steps_get_slower():
    stamps = [30.0 * place for place in range(17)] + [480.0 + 60.0 * place for place in range(1, 5)]
    rows = [row(step, step_time_ms=30000.0, clock=stamp) for step, stamp in enumerate(stamps, start=1)]
    last, _earlier = attempts_of(steps_frame(NODES, {"gpu00": columns(*rows)}, 0))
    assert times_spent(last, bars=True)["gpu00"]["drift"] == 1.0


def stamped(pauses: dict[int, float], times: list[float] | None = None, steps: int = 30) -> str:
    """Return the log of steps of 1 s, with pauses (s) after some of them."""
    clock, log = datetime.fromtimestamp(STARTED_AT, tz=UTC), ""
    for step in range(1, steps + 1):
        ms = times[step - 1] if times else 1000.0
        clock += timedelta(milliseconds=ms)
        log += f"[{clock:%Y-%m-%d %H:%M:%S}]{line(step, steps, ms=ms, loss=9 - step / 10)}"
        clock += timedelta(seconds=pauses.get(step, 0.0))
    return log


def of(log: str, folder: Path, steps: int = 30, **changes):
    silent = SILENT.replace("2026-01-02", f"{datetime.fromtimestamp(STARTED_AT, UTC):%Y-%m-%d}")
    nodes = [Node("gpu00", silent, seconds=90_000.0), Node("gpu01", log, seconds=90_000.0)]
    plan = {"parameters": {"iterations": steps}, "expected": [], "workload": None, "logs": {"folder": "logs"}}
    return judged(nodes, folder, **plan | changes)


@pytest.mark.parametrize("bounds", [[], [{"metric": "loss", "kind": "max", "value": 8.0}]])
@pytest.mark.parametrize(
    ("pauses", "steps", "verdict"),
    [
        ({15: 7200.0}, 30, "INCONCLUSIVE"),
        ({15: 1800.0}, 30, "PASS"),
        ({10: 900.0, 20: 900.0, 25: 3000.0}, 30, "PASS"),
        ({15: 3600.0}, 30, "PASS"),
        ({1: 7200.0}, 30, "PASS"),
    ],
    ids=["two hours", "a checkpoint", "several", "the hour of spring", "during the warm-up"],
)
def test_a_hole_longer_than_the_whole_training_is_no_pause(pauses, steps, verdict, bounds, tmp_path: Path):
    summary = of(stamped(pauses, steps=steps), tmp_path, steps, expected=bounds)
    assert summary["verdict"] == verdict, summary["reasons"]
    if verdict != "PASS":
        (reason,) = [reason for reason in summary["reasons"] if reason["code"] == "pauses"]
        assert (reason["case"], reason["node"]) == ("paused", "gpu01")
        assert reason["values"]["pause"] == {"seconds": 7200.0, "after_step": 15}


def test_step_times_of_two_levels_are_told_in_one_sentence(tmp_path: Path):
    times = [1000.0] * 15 + [3000.0] * 8 + [1000.0] * 7
    summary = of(stamped({}, times), tmp_path)
    (note,) = [note for note in summary["notes"] if note["code"] == "two_levels"]
    assert note["message"].startswith(
        "The step times of gpu01 have two levels: 20 steps take about 1,000 ms and 8 about 3,000 ms."
    )
    assert summary["nodes"][1]["time_spent"]["levels"] == [
        {"step_time_ms": 1000.0, "steps": 20},
        {"step_time_ms": 3000.0, "steps": 8},
    ]
    low, high = summary["metrics"]["step_time_ms"]["interval"].values()
    assert 1000.0 <= low <= high <= 3000.0
