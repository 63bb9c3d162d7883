# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of an NxDT config that are valid, and cannot be meant so."""

from __future__ import annotations

import re

from ....text.words import listed, nearest
from ...job.sizes import warn_of_short_sequences
from .reading import NxdtReading

# No optimizer of NxDT converges with more.
_HIGHEST_RATE = 1.0
_MODEL_TYPE, _MODEL_TYPES = re.compile(r"--model-type[ =](\S+)"), ("transformer", "generic", "unet-inference")
_LEVEL = re.compile(r"(?:^|\s)(?:-O|--optlevel[ =])(\S+)")
_PATHS = ("data.train_dir", "data.val_dir", "exp_manager.explicit_log_dir", "compiler_cache_url")
_RATE, _SCHEDULE = "model.optim.lr", "model.optim.sched"
# NxDT's own scheduler has no default for it (optim/lr_schedulers.py), while NeMo's warm up over none.
_NEEDS_WARM_UP = "LinearAnnealingWithWarmUp"
_MONITOR = "exp_manager.checkpoint_callback_params.monitor"
# The metrics that NxDT logs (log_metrics and validation_epoch_end of its models), and Lightning's counters.
_METRICS = (
    *("step", "epoch", "global_step", "consumed_samples", "reduced_train_loss", "val_loss", "lr"),
    *("parameter_norm", "gradient_norm", "throughput", "throughput_peak", "chosen_rewards", "rejected_rewards"),
)


def check_values(reading: NxdtReading) -> None:
    """Report values that would make a training useless, or put its files in an unintended place."""
    _check_schedule(reading)
    _check_experts(reading)
    _check_compiler_flags(reading)
    _check_monitor(reading)
    warn_of_short_sequences(reading.get("data.seq_length"), "data.seq_length", reading.findings)
    for key in _PATHS:
        _check_path(reading, key)


def _check_schedule(reading: NxdtReading) -> None:
    rate, steps = reading.get(_RATE), reading.get("trainer.max_steps")
    warm_up, lowest = reading.get(f"{_SCHEDULE}.warmup_steps"), reading.get(f"{_SCHEDULE}.min_lr")
    if rate and rate > _HIGHEST_RATE:
        reading.warn(_RATE, f"With a learning rate of {rate:g} no model learns.", "Is a minus missing, as in 3e-4?")
    elif rate and lowest and lowest > rate:
        reading.warn(
            f"{_SCHEDULE}.min_lr", f"It is higher than the learning rate, {rate:g}.", "Give less, or leave it out."
        )
    if reading.get(_SCHEDULE) and warm_up is None and reading.get(f"{_SCHEDULE}.name") == _NEEDS_WARM_UP:
        reading.fault(
            f"{_SCHEDULE}.warmup_steps",
            f"{_NEEDS_WARM_UP} fails at the first step without a number of steps.",
            "Give one, 0 for no warm-up.",
        )
    if warm_up and steps and warm_up >= steps:
        reading.warn(
            f"{_SCHEDULE}.warmup_steps",
            f"The learning rate still rises when training ends after {steps} steps (trainer.max_steps).",
            f"Give less than {steps}.",
        )


def _check_experts(reading: NxdtReading) -> None:
    experts = reading.get("model.moe")
    if experts and experts.top_k and experts.num_experts and experts.top_k > experts.num_experts:
        reading.fault(
            "model.moe.top_k",
            f"A token cannot go to {experts.top_k} experts: there are {experts.num_experts} (num_experts).",
            f"Give {experts.num_experts} or less.",
        )


def _check_compiler_flags(reading: NxdtReading) -> None:
    flags = reading.get("compiler_flags") or ""
    kind, level = _MODEL_TYPE.search(flags), _LEVEL.search(flags)
    if kind and kind[1] not in _MODEL_TYPES:
        near = nearest(kind[1], _MODEL_TYPES)
        hint = f"Did you mean {near}? " if near else ""
        message = f"neuronx-cc has no model type {kind[1]}."
        reading.warn("compiler_flags", message, f"{hint}Known are {listed(_MODEL_TYPES)}.")
    if level and level[1] not in ("1", "2", "3"):
        reading.warn("compiler_flags", f"neuronx-cc has no optimization level {level[1]}.", "Give -O1, -O2 or -O3.")


def _check_monitor(reading: NxdtReading) -> None:
    metric = reading.get(_MONITOR)
    if metric and metric not in _METRICS and reading.get("exp_manager.create_checkpoint_callback"):
        near = nearest(metric, _METRICS)
        reading.warn(
            _MONITOR,
            f"NxDT logs no metric {metric}, so no checkpoint is kept by it, and after a validation the training ends "
            "with an error.",
            f"Did you mean {near}?" if near else "Set step, with mode max, to keep the last ones.",
        )


def _check_path(reading: NxdtReading, key: str) -> None:
    path = reading.get(key)
    if not path or "://" in path:
        return
    if ".." in path.split("/"):
        reading.warn(
            key, f"{path} leads out of its folder through .., which hides where it ends.", "Give the whole path."
        )
    elif not path.startswith(("/", "~", "{")):
        reading.warn(
            key,
            f"{path} is relative to trainops.nxdt_root, the folder that training starts in.",
            "Give an absolute path.",
        )
