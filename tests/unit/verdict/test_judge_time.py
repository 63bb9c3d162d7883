from __future__ import annotations

import math
from pathlib import Path

import pytest
from training_logs import SILENT, Node, columns, judged, line, row

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.frame import attempts_of, steps_frame
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.time_spent import times_spent

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


def test_bars_tell_by_their_time_stamps_that_steps_get_slower():
    stamps = [30.0 * place for place in range(17)] + [480.0 + 60.0 * place for place in range(1, 5)]
    rows = [row(step, step_time_ms=30000.0, clock=stamp) for step, stamp in enumerate(stamps, start=1)]
    last, _earlier = attempts_of(steps_frame(NODES, {"gpu00": columns(*rows)}, 0))
    assert times_spent(last, bars=True)["gpu00"]["drift"] == 1.0
