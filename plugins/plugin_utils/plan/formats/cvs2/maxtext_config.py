# SPDX-License-Identifier: GPL-3.0-or-later
"""The top of a CVS config with ``schema_version`` 1 for JAX MaxText, as cvs/lib/training/jaxmaxtext of ROCm/cvs has it.

Values that move to a key of CVS's first format are checked there, so anything may stand for them here.
"""

from __future__ import annotations

import typing as t

from ...config.field_types import Flag, FreeObject, Number, PositiveInteger
from ...config.kinds import OneOf, Words
from ...config.model import ConfigSection, key, optional
from .config import Convergence, LossCurve, ScalingBaseline, VersionedConfig

_AnyList = t.Annotated[list[t.Any], Words("a list")]
# Checked under the keys of the first format, which they move to.
MOVING = (
    *("log_dir", "hf_token_file", "models_dir", "id", "steps", "enable_checkpointing", "maxtext_config", "nic_type"),
    *("env_vars", "xla_flags", "ib_hca_list", "ib_hca", "socket_ifname", "gloo_socket_ifname", "ib_tc", "ib_sl"),
    *("ib_gid_index", "coordinator_ip", "coordinator_port", "initialization_timeout_seconds"),
    *("heartbeat_timeout_seconds", "tokenizer_path", "sweeps", "enabled_sweep_list"),
)


class Paths(ConfigSection):
    """The section ``paths``; ``{shared_fs}`` and ``{paths.log_dir}`` elsewhere stand for its values."""

    shared_fs: t.Any = optional("A folder that all nodes share.")
    models_dir: t.Any = optional("Cache for downloads from the Hugging Face hub.")
    log_dir: t.Any = optional("Log folder on each node.")
    hf_token_file: t.Any = optional("File with the Hugging Face token.")


class Model(ConfigSection):
    """The section ``model``."""

    id: t.Any = optional("Name of the model.")
    remote: t.Any = optional("Whether CVS fetches the model.")
    precision: t.Any = optional("Number format; dtype and quantization of maxtext_config decide.")


class Tokenizer(ConfigSection):
    """The section ``training.tokenizer``."""

    hf_model_id: t.Any = optional("Where CVS fetches it from.")
    tokenizer_path: t.Any = optional("Where it is.")


class Nccl(ConfigSection):
    """The section ``training.nccl``."""

    ib_hca_list: t.Any = optional("RDMA devices, where ib_hca is not set.")
    ib_hca: t.Any = optional("RDMA devices over which the nodes exchange gradients.")
    socket_ifname: t.Any = optional("Network interfaces of NCCL or RCCL.")
    gloo_socket_ifname: t.Any = optional("Network interfaces of Gloo.")
    ib_tc: t.Any = optional("Traffic class of RDMA.")
    ib_sl: t.Any = optional("Service level of RDMA.")
    ib_gid_index: t.Any = optional("Entry of the RDMA devices' GID table.")


class JaxDistributed(ConfigSection):
    """The section ``training.jax_distributed``."""

    coordinator_ip: t.Any = optional("Address of rank 0; auto takes the inventory's.")
    coordinator_port: t.Any = optional("Port at which the nodes meet.")
    initialization_timeout_seconds: t.Any = optional("How long the nodes wait for each other at startup.")
    heartbeat_timeout_seconds: t.Any = optional("A node counts as dead after this long without a heartbeat.")


class CheckpointResume(ConfigSection):
    """The section ``training.checkpoint_resume``: a test of CVS of its own."""

    enabled: Flag = key("Whether CVS runs it.", default=False)
    sweep: t.Any = optional("Which cell it runs.")
    steps_before_ckpt: PositiveInteger | None = optional("Steps before the checkpoint.")
    steps_after_resume: PositiveInteger | None = optional("Steps after it.")
    checkpoint_period: PositiveInteger | None = optional("Steps between checkpoints.")
    loss_tolerance: Number | None = optional("By how much the losses may differ.")
    max_save_seconds: t.Any = optional("How long saving may take; 0 for any time.")
    max_load_seconds: t.Any = optional("How long loading may take; 0 for any time.")
    delete_ckpt_dir: Flag | None = optional("Whether the checkpoint is removed.")
    smoke_model_overrides: FreeObject | None = optional("MaxText keys of that run.")


class Training(ConfigSection):
    """The section ``training``."""

    distributed: Flag = key("Whether all nodes train together.", default=True)
    gpus_per_node: t.Any = optional("GPUs of a node.")
    verify_dmesg: Flag | None = optional("Whether CVS reads the kernel's messages; a run here always does.")
    steps: t.Any = optional("How many steps to train.")
    enable_checkpointing: t.Any = optional("Write checkpoints.")
    train_script_paths: _AnyList | None = optional("Where CVS looks for MaxText; the image's tag decides that.")
    train_script: t.Any = optional("The same, a single one.")
    maxtext_config: FreeObject = key("Keys of MaxText.", default={})
    tokenizer: Tokenizer = key("The tokenizer.", default_factory=Tokenizer)
    nic_type: t.Any = optional("Type of the RDMA network cards.")
    rdma_lib: FreeObject | None = optional("No effect; mount the library.")
    env_vars: FreeObject = key("Environment variables of the training.", default={})
    xla_flags: FreeObject = key("XLA flags, each with its value.", default={})
    error_patterns: FreeObject | None = optional("What CVS looks for in logs, in addition to what is looked for here.")
    nccl: Nccl = key("Settings of NCCL or RCCL.", default_factory=Nccl)
    jax_distributed: JaxDistributed = key("How the nodes meet.", default_factory=JaxDistributed)
    scaling_baseline: ScalingBaseline = key("What scaling is compared with.", default_factory=ScalingBaseline)
    convergence: Convergence = key("A loss to reach.", default_factory=Convergence)
    loss_curve: LossCurve = key("How CVS judges the loss.", default_factory=LossCurve)
    checkpoint_resume: CheckpointResume = key("A test of checkpoints.", default_factory=CheckpointResume)
    sweeps: _AnyList | None = optional("The runs, each with its name and maxtext_overrides.")
    enabled_sweep_list: _AnyList | None = optional("Those that run.")


class MaxTextFile(VersionedConfig):
    """A config for JAX MaxText."""

    framework: t.Annotated[str, OneOf(("jaxmaxtext",))] = key("Trainer.")
    paths: Paths = key("Folders and files.", default_factory=Paths)
    model: Model = key("The model.", default_factory=Model)
    training: Training = key("What to train, and how.")
