# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of an NxDT training config: its top level, and all sections except ``data`` and ``model``.

Source: docs/general/config_overview.rst and examples/conf of aws-neuron/neuronx-distributed-training.
"""

from __future__ import annotations

import typing as t

from ...config.field_types import Boolean, Count, Natural, YamlText
from ...config.key_tables import with_keys
from ...config.kinds import OneOf, Whole
from ...config.model import ConfigSection, key, optional
from .data_config import AlignmentConfig, DataConfig
from .keys import KEYS
from .model_config import ModelConfig
from .precision import PrecisionConfig
from .run_config import RunConfig

_OVERRIDDEN = "argument of training_orchestrator.py"


@with_keys(KEYS["trainer"], strict=True)
class TrainerConfig(ConfigSection):
    """The section ``trainer``: settings of PyTorch Lightning's trainer."""

    devices: Count = key(
        "Processes per node, one for each logical NeuronCore. Per node, whatever NxDT's documentation says.",
        example=32,
        unit="devices",
        variable="--nproc_per_node, trainer.devices",
    )
    lnc: t.Annotated[int, Whole(1, 2, strict=True)] | None = optional(
        "Physical NeuronCores per logical one; by default 2 on Trn2, and always 1 elsewhere.",
        variable="NEURON_LOGICAL_NC_CONFIG (Trn2)",
        since="1.1.0",
    )
    max_steps: Count = key("Number of steps to train.", example=20000, unit="steps")
    accumulate_grad_batches: t.Annotated[int, Whole(1, 1, strict=True)] | None = optional(
        "Must be 1: the batch sizes decide how gradients are accumulated."
    )
    precision: t.Annotated[int, Whole(32, 32, strict=True)] | None = optional(
        "Must be 32; the section precision decides."
    )
    enable_progress_bar: Boolean | None = optional(
        "The progress bar, whose output the run is judged by; must not be false."
    )
    enable_model_summary: Boolean | None = optional("Must be false.")


@with_keys(KEYS["exp_manager.checkpoint_callback_params"], strict=True)
class CheckpointConfig(ConfigSection):
    """The section ``exp_manager.checkpoint_callback_params``: which checkpoints are kept."""


@with_keys(KEYS["exp_manager"], strict=True)
class ExpManagerConfig(ConfigSection):
    """The section ``exp_manager``: logs and checkpoints."""

    explicit_log_dir: YamlText | None = key(
        "Folder for logs and checkpoints; null uses the folder experiment in the node's run folder. With several "
        "nodes it must be a shared folder.",
        example="/shared/nxdt/llama3",
        variable=_OVERRIDDEN,
    )
    create_checkpoint_callback: Boolean | None = optional("Write checkpoints.")
    checkpoint_callback_params: CheckpointConfig | None = optional("Which checkpoints are kept.")
    resume_from_checkpoint: YamlText | None = optional("Checkpoint to load, for SFT and DPO the pretrained one.")


@with_keys(KEYS["distributed_strategy"], strict=True)
class StrategyConfig(ConfigSection):
    """The section ``distributed_strategy``: how the model is distributed over the devices."""

    tensor_model_parallel_size: Count = key("Number of devices that share each layer.", example=8, unit="devices")
    pipeline_model_parallel_size: Count = key(
        "Number of pipeline stages that the layers are divided into.", example=1, unit="stages"
    )
    virtual_pipeline_model_parallel_size: Count | None = key(
        "Number of model chunks per pipeline stage; 1 without interleaving.", example=1
    )
    context_parallel_size: Count | None = optional(
        "Number of devices that share each sequence.", unit="devices", since="1.3.0"
    )
    expert_model_parallel_size: Count | None = optional(
        "Number of devices that share the experts.", unit="devices", since="1.1.0"
    )
    zero1: Boolean = key("Shard the optimizer state over the data-parallel ranks.", example=True)
    sequence_parallel: Boolean = key(
        "Split the sequences among the tensor-parallel ranks where layers allow it.", example=True
    )
    kv_replicator: Count | None = optional(
        "How many times key/value heads are replicated so that tensor parallelism divides them. A number, whatever "
        "NxDT's documentation says; applies only with model.qkv_linear."
    )


@with_keys(KEYS[""], strict=True)
class NxdtConfig(ConfigSection):
    """The top level of the file."""

    name: YamlText = key(
        "Name of the experiment. With model_source hf, mixtral in the name trains Mixtral; any other name, Llama.",
        example="hf_llama",
    )
    model_source: t.Annotated[str, OneOf(("megatron", "hf"), strict=True)] = key(
        "Where the model's code comes from.", example="hf"
    )
    trainer: TrainerConfig = key("Settings of PyTorch Lightning's trainer.")
    exp_manager: ExpManagerConfig = key("Logs and checkpoints.")
    distributed_strategy: StrategyConfig = key("How the model is distributed over the devices.")
    data: DataConfig = key("Dataset and batches.")
    model: ModelConfig = key("Architecture and optimizer.")
    model_alignment_strategy: AlignmentConfig | None = optional(
        "Fine-tuning (SFT, LoRA) or alignment (DPO, ORPO); none for pre-training."
    )
    precision: PrecisionConfig = key("Number formats.")
    compiler_flags: YamlText = key(
        "Flags for the Neuron compiler. NxDT appends them itself, so the plan does not set the variable.",
        example="--model-type transformer",
        variable="NEURON_CC_FLAGS",
    )
    compiler_cache_url: YamlText = key(
        "Folder or S3 prefix for compiled graphs; if the nodes share it, each graph is compiled only once.",
        example="/shared/neuron_cache",
        variable="NEURON_COMPILE_CACHE_URL",
    )
    aync_exec_max_inflight_requests: Natural = key(
        "Maximum number of executions in the runtime's queue. The spelling of the key is NxDT's.",
        example=5,
        variable="NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS",
    )
    bucket_size_collectives: Count = key(
        "Size of the buckets that gradients are gathered into.", example=1024, unit="MB", variable="BUCKET_CAP_MB"
    )
    neuron_rt_exec_timeout: Count = key(
        "Timeout until the runtime abandons an execution.",
        example=100,
        unit="s",
        variable="NEURON_RT_EXEC_TIMEOUT",
    )
    neuron_experimental_compress_rg: Boolean = key(
        "Compress replica groups.", example=False, variable="NEURON_EXPERIMENTAL_COMPRESS_RG"
    )
    trainops: RunConfig = key(
        "How to run: read only by this collection, not by NxDT itself.", default_factory=RunConfig
    )
