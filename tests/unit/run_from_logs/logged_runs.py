# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs as trainers leave them in folders; the formats are theirs, the numbers are made up."""

from __future__ import annotations

import typing as t
from pathlib import Path

OUT_OF_MEMORY = (
    "[rank5]: Traceback (most recent call last):\n"
    '[rank5]:   File "/workspace/Megatron-LM/pretrain_gpt.py", line 300, in <module>\n'
    "[rank5]: torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.\n"
)


def megatron(steps: t.Iterable[int], total: int = 10) -> str:
    return "".join(
        f" iteration {step:8d}/{total:8d} | consumed samples: {step * 128:12d} |"
        f" elapsed time per iteration (ms): {100 + step:.1f} | throughput per GPU (TFLOP/s/GPU): 400.0 |"
        f" learning rate: 1.0E-4 | global batch size:   128 | lm loss: {9 - step / 10:.6E} | loss scale: 1.0 |"
        " grad norm: 1.000 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
        for step in steps
    )


def maxtext(steps: t.Iterable[int], total: int | None = None) -> str:
    head = "" if total is None else f"Config param steps: {total}\n"
    return head + "".join(
        f"completed step: {step}, seconds: 2.5, TFLOP/s/device: 120.5, Tokens/s/device: 800.1, total_weights: 4096,"
        f" loss: {9 - step / 10:.3f}\n"
        for step in steps
    )


def nxdt(steps: t.Iterable[int]) -> str:
    return "".join(
        f"Epoch 0:   3%|▎         | {step}/91 [16:05<7:52:06, 2.5s/it, v_num=2, reduced_train_loss=9.40]\r"
        for step in steps
    )


def laid_out(folder: Path, files: dict[str, str]) -> Path:
    """Write files below a folder, and return it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


SILENT = (
    "[before the start of training step] datetime: 2026-01-02 03:04:05 \n"
    "[after training is done] datetime: 2026-01-02 03:14:05 \n"
)
WORKER = "node1:77:99 [0] NCCL INFO ncclCommInitRank comm 0x55 rank 8 nranks 32 cudaDev 0 busId 5000 - Init COMPLETE\n"
