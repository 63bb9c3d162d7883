# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the closing lines of train_llama3.sh from a log: means over the iterations but the first two and the last.

Usage: summarize_log.py LOG GLOBAL_BATCH_SIZE SEQ_LENGTH WORLD_SIZE
"""

from __future__ import annotations

import math
import re
import sys


def summary_lines(log: str, global_batch_size: int, seq_length: int, world_size: int) -> list[str]:
    """Give the four closing lines: TFLOP/s of a GPU, milliseconds, tokens a second and GPU, share of memory.

    With three iterations or fewer there is nothing to average and each value is ``nan``, as in the real script. No
    number has an exponent, because readers of this format do not expect one.
    """
    milliseconds = _mean(r"elapsed time per iteration \(ms\): ([0-9.]+)", log)
    return [
        f"throughput per GPU: {_mean(r'throughput per GPU [(]TFLOP/s/GPU[)]: ([0-9.]+)', log):.12f}",
        f"elapsed time per iteration: {milliseconds:.12f}",
        f"tokens/GPU/s: {global_batch_size * seq_length * 1000 / (milliseconds * world_size):.6f}",
        f"mem usages: {_mean(r'mem usages: ([0-9.]+)', log):.12f}",
    ]


def _mean(pattern: str, log: str) -> float:
    values = [float(value) for value in re.findall(pattern, log)][2:-1]
    return math.fsum(values) / len(values) if values else math.nan


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        print("\n".join(summary_lines(file.read(), *map(int, sys.argv[2:5]))))
