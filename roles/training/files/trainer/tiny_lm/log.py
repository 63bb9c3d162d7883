# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of a training log, in Megatron's format (``training_log()`` in its training.py, ROCm v25.3 order)."""

from __future__ import annotations

import statistics
import time
import typing as t


class Iteration(t.NamedTuple):
    """The measurements of one iteration."""

    iteration: int
    train_iters: int
    consumed_samples: int
    seconds: float
    memory_share: float
    flops: int
    """Floating point operations that this node did."""
    learning_rate: float
    global_batch_size: int
    loss: float
    grad_norm: float


def marker(event: str) -> str:
    """Give the line of an event that happens once, with the time of day."""
    return f"[{event}] datetime: {_now()} "


def iteration_line(measured: Iteration) -> str:
    """Give the line of one iteration.

    As in Megatron, a loss that is not above 0, NaN included, is left out. TFLOP/s have six decimals, because one
    decimal would read 0.0 here.
    """
    fields = [
        f" [{_now()}] iteration {measured.iteration:8d}/{measured.train_iters:8d}",
        f"consumed samples: {measured.consumed_samples:12d}",
        f"elapsed time per iteration (ms): {measured.seconds * 1000:.1f}",
        f"mem usages: {measured.memory_share:.4f}",
        f"throughput per GPU (TFLOP/s/GPU): {measured.flops / measured.seconds / 1e12:.6f}",
        f"learning rate: {measured.learning_rate:.6E}",
        f"global batch size: {measured.global_batch_size:5d}",
        *([f"lm loss: {measured.loss:.6E}"] if measured.loss > 0.0 else []),
        "loss scale: 1.0",
        f"grad norm: {measured.grad_norm:.3f}",
        f"number of skipped iterations: {0:3d}",
        f"number of nan iterations: {0:3d}",
    ]
    return " | ".join(fields) + " |"


# Healthy nodes differ by a few percent.
_SLOWER = 1.1


def slowest_line(seconds: t.Sequence[float]) -> str:
    """Give the line on the fastest and the slowest rank, in the format of Megatron's ``--log-straggler``.

    ``seconds`` are the time that each rank computed in an iteration, without the wait for the others. Empty unless
    the slowest one took a tenth longer than the median.
    """
    least, most = min(seconds), max(seconds)
    if most < _SLOWER * statistics.median(seconds):
        return ""
    ranks = [f"{one * 1000:.2f}ms/{seconds.index(one)}" for one in (least, most)]
    return f" 0: INFO:tiny_lm:[{_now()}] | MnRtt/Rnk: {ranks[0]} | MxRtt/Rnk: {ranks[1]} |"


def memory_share() -> float:
    """This process's peak resident memory as a share (0 to 1) of the machine's, from /proc."""
    return _kib("/proc/self/status", "VmHWM") / _kib("/proc/meminfo", "MemTotal")


def _kib(path: str, name: str) -> int:
    """Read a line like ``MemTotal:  24691260 kB``."""
    with open(path, encoding="ascii", errors="replace") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")
