# SPDX-License-Identifier: GPL-3.0-or-later
"""A CVS config with ``schema_version`` 1; source: cvs/lib/training and cvs/core/orchestrators of ROCm/cvs.

Values that move to a key of CVS's first format are checked there, so any value is accepted for them here.
"""

from __future__ import annotations

import typing as t

from pydantic import Field

from ...config.field_types import Flag, FreeObject, Line, Name, Number, PositiveInteger
from ...config.kinds import OneOf, Real, Whole, Words
from ...config.model import ConfigSection, key, optional

MEGATRON = ("megatron_single", "megatron_distributed")
TORCHTITAN = ("torchtitan_single", "torchtitan_distributed")
Target = t.Annotated[str, OneOf(("auto", "train_loss", "eval_loss"))]
LossToReach = t.Annotated[float, Real()]
SchemaVersion = t.Annotated[int, Whole(1, 1)]
Lifetime = t.Annotated[str, OneOf(("no_launch", "per_run", "persistent"))]
AnyList = t.Annotated[list[t.Any], Words("a list")]


class RuntimeArguments(ConfigSection):
    """The section ``container.runtime.args``."""

    network: t.Any = optional("Always the host's, unless the profile is hardened.")
    ipc: t.Any = optional("Always the host's.")
    privileged: Flag | None = optional("container_profile decides that.")
    shm_size: t.Any = optional("Size of the container's /dev/shm.")
    shm_size_of_docker: t.Any = Field(None, alias="shm-size", description="The same, in docker's spelling.")
    ulimit: AnyList | None = optional("Limits; memlock and nofile are always raised.")
    volumes: t.Any = optional("Mounts, each as path on the node:path in the container.")
    devices: t.Any = optional("Devices of the node that the container can use.")
    cap_add: AnyList | None = optional("Capabilities; container_profile decides them.")
    security_opt: AnyList | None = optional("Security options; container_profile decides them.")
    group_add: AnyList | None = optional("Groups; the container is in video.")
    env: t.Any = optional("Additional environment variables of the training.")


class ContainerRuntime(ConfigSection):
    """The section ``container.runtime``."""

    name: t.Any = key("Container engine; container_engine decides.", default="docker")
    args: RuntimeArguments = key("How the container is started.", default_factory=RuntimeArguments)


class Container(ConfigSection):
    """The section ``container``."""

    lifetime: Lifetime | None = optional("Whether CVS starts a container; here each run has its own.")
    name: t.Any = optional("Name of the container on each node.")
    image: t.Any = optional("Container image; its name decides the trainer.")
    image_tar: t.Any = optional("An archive of the image; the image has to be on the nodes, or in a registry.")
    env: t.Any = optional("Additional environment variables of the training.")
    runtime: ContainerRuntime = key("What starts the container.", default_factory=ContainerRuntime)


class ScalingBaseline(ConfigSection):
    """The section ``scaling_baseline``: the run that scaling_efficiency_pct compares with."""

    tokens_per_sec_total: t.Any = optional("Its throughput over all GPUs; 0 for none.")
    num_nodes: PositiveInteger = key("Its number of nodes.", default=1, unit="nodes")


class LossCurve(ConfigSection):
    """The section ``loss_curve``. A verdict fails a run whose loss does not fall, whatever is set here."""

    sample_every: PositiveInteger | None = optional("CVS looks at every so many steps; a verdict at all.")
    milestone_steps: t.Annotated[list[t.Any], Words("a list of steps")] | None = optional("Steps it looks at as well.")
    max_slope: t.Any = optional("The slope that the loss must stay below.")
    enforce: Flag | None = optional("Whether CVS fails a run by it.")


class Convergence(ConfigSection):
    """The section ``convergence``."""

    target_metric: Target = key("Whose loss it is.", default="auto")
    target_value: LossToReach | None = optional("Loss to reach, for when it was; 0 for none.")


class Checkpoint(ConfigSection):
    """The section ``checkpoint``: a test of CVS of its own."""

    enforce: Flag = key("Whether CVS makes it.", default=False)
    save_interval: PositiveInteger | None = optional("Steps between checkpoints.")
    save_iters: PositiveInteger | None = optional("Steps of the run that saves.")
    resume_iters: PositiveInteger | None = optional("The last step of the run that resumes.")
    loss_rtol: t.Any = optional("By how much the losses may differ.")
    checkpoint_dir: t.Any = optional("Folder that the nodes share.")


class LaterConfig(ConfigSection):
    """What every later config has at the top."""

    enforce_thresholds: Flag = key("Whether thresholds are judged, or a run is only recorded.", default=True)
    threshold_json: Line = key("File with the thresholds, in the folder of the config.", default="")
    container: Container = key("How the container is started.", default_factory=Container)


class VersionedConfig(LaterConfig):
    """What every config with a schema_version has at the top."""

    schema_version: SchemaVersion = key("Version of the format.", example=1)
    gpu_arch: Name = key("Kind of GPU.", example="MI325X")


class MegatronFile(VersionedConfig):
    """A config for ROCm's Megatron-LM."""

    framework: t.Annotated[str, OneOf(MEGATRON)] = key("Trainer, and whether all nodes train together.")
    scaling_baseline: ScalingBaseline = key("What scaling is compared with.", default_factory=ScalingBaseline)
    loss_curve: LossCurve = key("How CVS judges the loss.", default_factory=LossCurve)
    convergence: Convergence = key("A loss to reach.", default_factory=Convergence)
    checkpoint: Checkpoint = key("A test of checkpoints.", default_factory=Checkpoint)
    smoke: FreeObject | None = optional("A short run of CVS before the others.")
    config: FreeObject = key("How to run.")
    model_params: FreeObject = key("What to train.")
    sweep: FreeObject | None = optional("The runs, each with its batch sizes and precision.")


class TorchTitanFile(MegatronFile):
    """A config for TorchTitan, with the same sections."""

    framework: t.Annotated[str, OneOf(TORCHTITAN)] = key("Trainer, and whether all nodes train together.")


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
    train_script_paths: AnyList | None = optional("Where CVS looks for MaxText; the image's tag decides that.")
    maxtext_branch: t.Any = optional("Branch of MaxText that each node checks out before the training.")
    maxtext_root: t.Any = optional("MaxText's checkout in the container.")
    maxtext_install_cmd: t.Any = optional("Shell command that is run in the checkout before the training.")
    train_script: t.Any = optional("The same, a single one.")
    maxtext_config: FreeObject = key("Keys of MaxText.", default={})
    tokenizer: Tokenizer = key("The tokenizer.", default_factory=Tokenizer)
    nic_type: t.Any = optional("Type of the RDMA network cards.")
    rdma_lib: FreeObject | None = optional("No effect; mount the library.")
    env_vars: FreeObject = key("Environment variables of the training.", default={})
    xla_flags: FreeObject = key("XLA flags, each with its value.", default={})
    error_patterns: FreeObject | None = optional(
        "Patterns that CVS looks for in logs, in addition to the ones used here."
    )
    nccl: Nccl = key("Settings of NCCL or RCCL.", default_factory=Nccl)
    jax_distributed: JaxDistributed = key("How the nodes meet.", default_factory=JaxDistributed)
    scaling_baseline: ScalingBaseline = key("What scaling is compared with.", default_factory=ScalingBaseline)
    convergence: Convergence = key("A loss to reach.", default_factory=Convergence)
    loss_curve: LossCurve = key("How CVS judges the loss.", default_factory=LossCurve)
    checkpoint_resume: CheckpointResume = key("A test of checkpoints.", default_factory=CheckpointResume)
    sweeps: AnyList | None = optional("The runs, each with its name and maxtext_overrides.")
    enabled_sweep_list: AnyList | None = optional("Those that run.")


class MaxTextFile(VersionedConfig):
    """A config for JAX MaxText."""

    framework: t.Annotated[str, OneOf(("jaxmaxtext",))] = key("Trainer.")
    paths: Paths = key("Folders and files.", default_factory=Paths)
    model: Model = key("The model.", default_factory=Model)
    training: Training = key("What to train, and how.")
