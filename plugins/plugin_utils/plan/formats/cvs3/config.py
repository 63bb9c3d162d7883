# SPDX-License-Identifier: GPL-3.0-or-later
"""The top of a CVS config with ``gpu_name`` and ``train_params``.

Sources: cvs/input/config_file/training of ROCm/cvs at 25f1367e and e846de8d (2026), and its reference of the Megatron
configuration files. The sections with a training's values are checked when they become a config of CVS's first format.
"""

from __future__ import annotations

import typing as t

from ...config.field_types import Flag, FreeObject, Name
from ...config.model import ConfigSection, key, optional
from ..cvs2.config import (
    AnyList,
    Checkpoint,
    CheckpointResume,
    Convergence,
    LaterConfig,
    LossCurve,
    Paths,
    ScalingBaseline,
)


class CurrentPaths(Paths):
    """The section ``paths``, with more folders."""

    scripts_dir: t.Any = optional("No effect; the launch script is in the run's folder.")
    data_cache_dir: t.Any = optional("Cache for the dataset index.")
    rocm_dir: t.Any = optional("No effect; ROCm is taken from the image.")
    temp_dir: t.Any = optional("No effect; a run keeps its files in its own folder.")


class CurrentConfig(LaterConfig):
    """What every config has at the top."""

    gpu_name: Name = key("Kind of GPU.", example="MI325X")
    gpus_per_node: t.Any = optional("GPUs of a node.")
    verify_network_errors: t.Any = optional("No effect; network counters are not compared.")
    paths: CurrentPaths = key("Folders and files.", default_factory=CurrentPaths)
    smoke: FreeObject | None = optional("A short run of CVS before the others.")
    loss_curve: LossCurve = key("How CVS judges the loss.", default_factory=LossCurve)
    convergence: Convergence = key("A loss to reach.", default_factory=Convergence)
    scaling_baseline: ScalingBaseline = key("What scaling is compared with.", default_factory=ScalingBaseline)
    error_patterns: FreeObject | None = optional(
        "Patterns that CVS looks for in logs, in addition to the ones used here."
    )


class MegatronFile(CurrentConfig):
    """A config for Megatron-LM."""

    train_params: FreeObject = key("What to train.")
    checkpoint: Checkpoint = key("A test of checkpoints.", default_factory=Checkpoint)
    sweep: FreeObject | None = optional("The runs, each named by its batch sizes and precision.")


class TrainParams(ConfigSection):
    """The section ``train_params`` for JAX MaxText."""

    hf_model_id: t.Any = optional("Where CVS fetches the tokenizer from.")
    model_id: t.Any = optional("Name of the model, if another one than model_name of maxtext_config.")
    train_script_paths: AnyList | None = optional("Where CVS looks for MaxText; the image's tag decides that.")
    maxtext_branch: t.Any = optional("Branch of MaxText that each node checks out before the training.")
    maxtext_root: t.Any = optional("MaxText's checkout in the container.")
    maxtext_install_cmd: t.Any = optional("Shell command that is run in the checkout before the training.")
    maxtext_config: FreeObject = key("Keys of MaxText.")
    xla_flags: FreeObject = key("XLA flags, each with its value.", default={})


class MaxTextFile(CurrentConfig):
    """A config for JAX MaxText."""

    train_params: TrainParams = key("What to train.")
    checkpoint_resume: CheckpointResume = key("A test of checkpoints.", default_factory=CheckpointResume)
    sweeps: t.Any = optional("The runs, each named by its batch size, precision and sequence length.")
    runs: t.Any = optional("Those that run.")
    verify_dmesg: Flag | None = optional("Whether CVS reads the kernel's messages; a run here always does.")
