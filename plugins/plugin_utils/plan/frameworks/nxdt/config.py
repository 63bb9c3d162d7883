# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of an NxDT training config: its top, and all sections but ``data`` and ``model``.

Source: docs/general/config_overview.rst and examples/conf of aws-neuron/neuronx-distributed-training.
"""

from __future__ import annotations

import typing as t

from ...config.field_types import Boolean, Count, Natural, YamlText
from ...config.fields import ConfigSection, key, optional
from ...config.key_tables import with_keys
from ...config.kinds import OneOf, Whole
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
        "Processes of each node, one for each logical NeuronCore. Of one node, whatever NxDT's text says.",
        example=32,
        unit="devices",
        variable="--nproc_per_node, trainer.devices",
    )
    lnc: t.Annotated[int, Whole(1, 2, strict=True)] | None = optional(
        "Physical NeuronCores of each logical one; without it 2 on Trn2, and 1 elsewhere in any case.",
        variable="NEURON_LOGICAL_NC_CONFIG (Trn2)",
        since="1.1.0",
    )
    max_steps: Count = key("Steps after which training ends.", example=20000, unit="steps")
    accumulate_grad_batches: t.Annotated[int, Whole(1, 1, strict=True)] | None = optional(
        "Only 1: the batch sizes decide how gradients are accumulated."
    )
    precision: t.Annotated[int, Whole(32, 32, strict=True)] | None = optional("Only 32; the section precision decides.")
    enable_progress_bar: Boolean | None = optional(
        "The progress bar, which carries what the run is judged by; false is refused."
    )
    enable_model_summary: Boolean | None = optional("Only false.")


@with_keys(KEYS["exp_manager.checkpoint_callback_params"], strict=True)
class CheckpointConfig(ConfigSection):
    """The section ``exp_manager.checkpoint_callback_params``: which checkpoints are kept."""


@with_keys(KEYS["exp_manager"], strict=True)
class ExpManagerConfig(ConfigSection):
    """The section ``exp_manager``: logs and checkpoints."""

    explicit_log_dir: YamlText | None = key(
        "Folder of logs and checkpoints; null takes the folder experiment in the node's run folder. On "
        "several nodes it has to be one that they share.",
        example="/shared/nxdt/llama3",
        variable=_OVERRIDDEN,
    )
    create_checkpoint_callback: Boolean | None = optional("Write checkpoints.")
    checkpoint_callback_params: CheckpointConfig | None = optional("Which checkpoints are kept.")
    resume_from_checkpoint: YamlText | None = optional("Checkpoint to load, for SFT and DPO the pretrained one.")


@with_keys(KEYS["distributed_strategy"], strict=True)
class StrategyConfig(ConfigSection):
    """The section ``distributed_strategy``: how the model is shared out to the devices."""

    tensor_model_parallel_size: Count = key("How many devices share each layer.", example=8, unit="devices")
    pipeline_model_parallel_size: Count = key(
        "How many groups of devices share the layers, one after the other.", example=1, unit="stages"
    )
    virtual_pipeline_model_parallel_size: Count | None = key(
        "How many pieces of the model each pipeline stage holds; 1 without interleaving.", example=1
    )
    context_parallel_size: Count | None = optional(
        "How many devices share each sequence.", unit="devices", since="1.3.0"
    )
    expert_model_parallel_size: Count | None = optional(
        "How many devices share the experts.", unit="devices", since="1.1.0"
    )
    zero1: Boolean = key("Share the optimizer's state out to the data-parallel ranks.", example=True)
    sequence_parallel: Boolean = key(
        "Share the sequences out to the tensor-parallel ranks where layers allow it.", example=True
    )
    kv_replicator: Count | None = optional(
        "How often key/value heads are repeated, so that tensor parallelism divides them. A number, "
        "whatever NxDT's text says; it counts only with model.qkv_linear."
    )


@with_keys(KEYS[""], strict=True)
class NxdtConfig(ConfigSection):
    """The top of the file."""

    name: YamlText = key(
        "Name of the experiment. With mixtral in it and model_source hf, Mixtral is trained, else Llama.",
        example="hf_llama",
    )
    model_source: t.Annotated[str, OneOf(("megatron", "hf"), strict=True)] = key(
        "Where the model's code comes from.", example="hf"
    )
    trainer: TrainerConfig = key("Settings of PyTorch Lightning's trainer.")
    exp_manager: ExpManagerConfig = key("Logs and checkpoints.")
    distributed_strategy: StrategyConfig = key("How the model is shared out to the devices.")
    data: DataConfig = key("What is trained on.")
    model: ModelConfig = key("Architecture and optimizer.")
    model_alignment_strategy: AlignmentConfig | None = optional(
        "Fine-tuning (SFT, LoRA) or alignment (DPO, ORPO); none for pre-training."
    )
    precision: PrecisionConfig = key("Number formats.")
    compiler_flags: YamlText = key(
        "Flags of the Neuron compiler. NxDT appends them itself, so the plan does not set the variable.",
        example="--model-type transformer",
        variable="NEURON_CC_FLAGS",
    )
    compiler_cache_url: YamlText = key(
        "Folder or S3 prefix of compiled graphs; where the nodes share it, each graph is compiled once.",
        example="/shared/neuron_cache",
        variable="NEURON_COMPILE_CACHE_URL",
    )
    aync_exec_max_inflight_requests: Natural = key(
        "Executions that wait in the runtime's queue. NxDT spells the key so.",
        example=5,
        variable="NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS",
    )
    bucket_size_collectives: Count = key(
        "Size of the tensors that gradients are gathered into.", example=1024, unit="MB", variable="BUCKET_CAP_MB"
    )
    neuron_rt_exec_timeout: Count = key(
        "After this long the runtime gives an execution up.", example=100, unit="s", variable="NEURON_RT_EXEC_TIMEOUT"
    )
    neuron_experimental_compress_rg: Boolean = key(
        "Compress replica groups.", example=False, variable="NEURON_EXPERIMENTAL_COMPRESS_RG"
    )
    trainops: RunConfig = key(
        "How to run, for this collection: the one section that NxDT itself does not read.", default_factory=RunConfig
    )
