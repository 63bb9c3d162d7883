from __future__ import annotations

import math

from training_logs import columns, row

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.frame import attempts_of, steps_frame
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.judge_time import times_spent

NODES = [{"node": "gpu00", "node_rank": 0}]


def test_a_time_stamp_that_is_no_finite_number_is_none():
    stamps = [*(1e9 + 2.0 * place for place in range(19)), math.inf]
    rows = [row(step, step_time_ms=2000.0, clock=stamp) for step, stamp in enumerate(stamps, start=1)]
    last, _earlier = attempts_of(steps_frame(NODES, {"gpu00": columns(*rows)}, 0))
    assert times_spent(last, bars=False)["gpu00"]["wall_clock"] == 2000.0
