# SPDX-License-Identifier: GPL-3.0-or-later
"""Checkpoints of Megatron Core, laid out and announced as Megatron-LM does it."""

from __future__ import annotations

import typing as t
from pathlib import Path

import torch
from megatron.core import dist_checkpointing
from megatron.core.dist_checkpointing.optimizer import get_param_id_to_sharded_param_map, optim_state_to_sharding_state

if t.TYPE_CHECKING:
    from megatron.core.models.gpt import GPTModel

TRACKER = "latest_checkpointed_iteration.txt"


def save(folder: str, model: GPTModel, optimizer: torch.optim.AdamW, step: int) -> None:
    """Write the state after a step, each rank its part; the tracker points to it once all is there."""
    path = Path(folder, f"iter_{step:07d}")
    if torch.distributed.get_rank() == 0:
        path.mkdir(parents=True, exist_ok=True)
    torch.distributed.barrier()
    dist_checkpointing.save(_sharded(model, optimizer), str(path))
    if torch.distributed.get_rank() == 0:
        Path(folder, TRACKER).write_text(str(step))
        print(f"  successfully saved checkpoint from iteration {step:7d} to {folder}", flush=True)


def load(folder: str, model: GPTModel, optimizer: torch.optim.AdamW) -> int:
    """Return the step after which the training goes on; 0 if there is no checkpoint."""
    tracker = Path(folder, TRACKER)
    if not tracker.exists():
        return 0
    step = int(tracker.read_text())
    # The optimizer has no state that could be filled before its first step.
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    found = dist_checkpointing.load(_sharded(model, optimizer), str(Path(folder, f"iter_{step:07d}")))
    model.load_state_dict(found["model"])
    for state in found["optimizer"]["state"].values():
        state["step"] = torch.tensor(float(step))
    optimizer.load_state_dict(found["optimizer"])
    if torch.distributed.get_rank() == 0:
        print(f"  successfully loaded checkpoint from {folder} [ t 1/1, p 1/1 ] at iteration {step}", flush=True)
    return step


def _sharded(model: GPTModel, optimizer: torch.optim.AdamW) -> dict[str, t.Any]:
    weights, state = model.sharded_state_dict(), optimizer.state_dict()
    optim_state_to_sharding_state(
        state, get_param_id_to_sharded_param_map(weights, model.parameters()), exclude_keys=("step",)
    )
    return {"model": weights, "optimizer": state}
