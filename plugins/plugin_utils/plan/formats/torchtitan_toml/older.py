# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys that files for an older TorchTitan have, and 0.2.2 does not, each with the key that took its place, if any.

Source: torchtitan/config_manager.py and torchtitan/config/job_config.py of pytorch/torchtitan, March 2024 to 0.2.2.
"""

from __future__ import annotations

import typing as t

from ....text.words import listed
from ...config.findings import Findings

_OF_PARALLELISM = (
    *("data_parallel_replicate_degree", "data_parallel_shard_degree", "tensor_parallel_degree"),
    *("pipeline_parallel_degree", "disable_loss_parallel", "fsdp_reshard_after_forward"),
)
_FORMERLY_EXPERIMENTAL = (
    *("context_parallel_degree", "context_parallel_rotate_method", "enable_async_tensor_parallel"),
    *("pipeline_parallel_degree", "pipeline_parallel_schedule", "pipeline_parallel_schedule_csv"),
)
_SPLIT = "parallelism.module_fqns_per_model_part"
_NOW = {
    "job.print_args": "job.print_config",
    "job.use_for_integration_test": "",
    "metrics.rank_0_only": "metrics.save_for_all_ranks",
    "metrics.enable_color_printing": "metrics.disable_color_printing",
    "model.norm_type": "",
    "model.use_flex_attn": "",
    "optimizer.fused": "optimizer.implementation",
    "lr_scheduler.lr_min": "lr_scheduler.min_lr_factor",
    "training.batch_size": "training.local_batch_size",
    "training.compile": "compile.enable",
    "training.warmup_steps": "lr_scheduler.warmup_steps",
    "training.data_parallel_degree": "parallelism.data_parallel_shard_degree",
    "training.data_parallel_type": "",
    "training.enable_loss_parallel": "parallelism.disable_loss_parallel",
    "training.enable_float8_linear": "model.converters",
    "training.fp8_linear": "model.converters",
    "training.seed": "debug.seed",
    "training.deterministic": "debug.deterministic",
    **{f"training.{name}": f"parallelism.{name}" for name in _OF_PARALLELISM},
    **{f"experimental.{name}": f"parallelism.{name}" for name in _FORMERLY_EXPERIMENTAL},
    "experimental.pipeline_parallel_microbatches": "parallelism.pipeline_parallel_microbatch_size",
    "experimental.pipeline_parallel_split_points": _SPLIT,
    "experimental.enable_compiled_autograd": "",
    "parallelism.enable_compiled_autograd": "",
    "parallelism.pipeline_parallel_split_points": _SPLIT,
    "checkpoint.enable_checkpoint": "checkpoint.enable",
    "checkpoint.interval_type": "",
    "checkpoint.model_weights_only": "checkpoint.last_save_model_only",
    "checkpoint.last_save_model_weights_only": "checkpoint.last_save_model_only",
    "memory_estimation.enabled": "memory_estimation.enable",
    "validation.enabled": "validation.enable",
    "float8": "quantize.linear.float8",
    "mx": "quantize.linear.mx",
}


def without_older_keys(values: dict[str, t.Any], findings: Findings) -> dict[str, t.Any]:
    """Return a file without the keys of older versions, after one fault about all of them."""
    older = [path for path in _NOW if _holder(values, path) is not None]
    if not older:
        return values
    now = [f"{_NOW[path]} for {path}" for path in older if _NOW[path]]
    gone = [path for path in older if not _NOW[path]]
    steps = (f"Use {listed(now)}." if now else "", f"Leave out {listed(gone)}." if gone else "")
    message = f"The file is for an older TorchTitan: TorchTitan 0.2 lacks {len(older)} of its keys."
    findings.fault("training_config", None, message, " ".join(filter(None, steps)))
    kept = {name: dict(table) if isinstance(table, dict) else table for name, table in values.items()}
    for path in older:
        holder = _holder(kept, path)
        if holder is not None:
            del holder[path.rpartition(".")[2]]
    return kept


def _holder(values: dict[str, t.Any], path: str) -> dict[str, t.Any] | None:
    """Return the table that has the last name of a path, or None if none has it."""
    table, _dot, name = path.rpartition(".")
    holder = values.get(table) if table else values
    return holder if isinstance(holder, dict) and name in holder else None
