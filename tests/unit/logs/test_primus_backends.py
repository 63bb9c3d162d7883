# SPDX-License-Identifier: GPL-3.0-or-later
"""The step lines of Primus' backends, with the prefix of Primus' logger, with and without its colours."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log

# primus/core/utils/logger.py
PLAIN = "[20261127 10:00:00][rank-15/16][INFO     ] [--------------train.py:10 ] : "
COLOURED = (
    "[\x1b[32m20261127 10:00:00\x1b[0m][\x1b[36mrank-15/16\x1b[0m][\x1b[1m[INFO]     \x1b[0m"
    "[\x1b[1m[-------train.py:10] : "
)
LINES = {
    "torchtitan": (
        "step: {step:2}  loss: {loss:8.5f}  grad_norm:  2.0000  memory: 61.25GiB(31.91%)  tps: 7,012  "
        "tflops: 406.12  mfu: 31.06%",
        ("loss", "tokens_per_sec_per_gpu", "tflops_per_gpu", "memory_fraction"),
    ),
    "maxtext": (
        "completed step: {step}, seconds: 4.100, TFLOP/s/device: 420.000, Tokens/s/device: 7992.195, "
        "total_weights: 524288, loss: {loss:.3f}",
        ("loss", "tokens_per_sec_per_gpu", "tflops_per_gpu", "step_time_ms"),
    ),
}


@pytest.mark.parametrize("prefix", [PLAIN, COLOURED], ids=["plain", "coloured"])
@pytest.mark.parametrize("backend", LINES)
def test_a_step_line_is_read_behind_the_prefix_of_primus(tmp_path: Path, backend: str, prefix: str) -> None:
    line, metrics = LINES[backend]
    log = tmp_path / "train.log"
    log.write_text("".join(f"{prefix}{line.format(step=step, loss=9 - step)}\n" for step in range(1, 6)))
    news = read_log(str(log), backend, final=True)
    rows = list(news["rows"])
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5]
    assert rows[1]["metrics"]["loss"] == 7
    assert set(metrics) <= set(rows[1]["metrics"])
