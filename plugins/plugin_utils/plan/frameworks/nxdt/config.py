# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of an NxDT training config: its top, and all sections but ``data`` and ``model``.

Source: docs/general/config_overview.rst and examples/conf of aws-neuron/neuronx-distributed-training.
"""

from __future__ import annotations

import typing as t

from pydantic import BaseModel, ConfigDict, Field

from ...config.field_types import AnyInteger, Boolean, Count, Natural, NotNegative, YamlText
from ...config.kinds import OneOf, Whole
from .data_config import AlignmentConfig, DataConfig
from .model_config import ModelConfig
from .precision import PrecisionConfig
from .run_config import RunConfig

_OVERRIDDEN = "argument of training_orchestrator.py"


class TrainerConfig(BaseModel):
    """The section ``trainer``: settings of PyTorch Lightning's trainer."""

    devices: Count = Field(
        description="Processes of each node, one for each logical NeuronCore. Of one node, whatever NxDT's text says.",
        examples=[32],
        json_schema_extra={"unit": "devices", "variable": "--nproc_per_node, trainer.devices"},
    )
    num_nodes: Count = Field(
        description="Nodes. The run's hosts win over it, with a warning.",
        examples=[4],
        json_schema_extra={"unit": "nodes", "variable": "--nnodes, trainer.num_nodes"},
    )
    lnc: t.Annotated[int, Whole(1, 2, strict=True)] | None = Field(
        default=None,
        description="Physical NeuronCores of each logical one; without it 2 on Trn2, and 1 elsewhere in any case.",
        json_schema_extra={"variable": "NEURON_LOGICAL_NC_CONFIG (Trn2)", "since": "1.1.0"},
    )
    max_epochs: AnyInteger | None = Field(
        description="Epochs after which training ends; -1 leaves that to max_steps.", examples=[-1]
    )
    max_steps: Count = Field(
        description="Steps after which training ends.", examples=[20000], json_schema_extra={"unit": "steps"}
    )
    max_time: YamlText | None = Field(default=None, description="Time after which training ends, as DD:HH:MM:SS.")
    log_every_n_steps: Count = Field(
        description="How often loggers are written.", examples=[1], json_schema_extra={"unit": "steps"}
    )
    val_check_interval: NotNegative = Field(
        description="How often to validate: in steps, or as a fraction of an epoch.", examples=[20000]
    )
    check_val_every_n_epoch: Count | None = Field(
        description="How often to validate; null counts steps only.", json_schema_extra={"unit": "epochs"}
    )
    num_sanity_val_steps: AnyInteger = Field(
        description="Validation steps before training.", examples=[0], json_schema_extra={"unit": "steps"}
    )
    limit_val_batches: NotNegative = Field(
        description="Batches of a validation, or a fraction of all as 0.1.", examples=[1]
    )
    limit_test_batches: NotNegative | None = Field(
        default=None, description="Batches of a test, or a fraction of all as 0.1."
    )
    gradient_clip_val: NotNegative | None = Field(description="Norm at which gradients are clipped.", examples=[1.0])
    sequential_move_factor: Count | None = Field(
        default=None, description="How many processes of a node move the model to their device at a time."
    )
    accumulate_grad_batches: t.Annotated[int, Whole(1, 1, strict=True)] | None = Field(
        default=None, description="Only 1: the batch sizes decide how gradients are accumulated."
    )
    precision: t.Annotated[int, Whole(32, 32, strict=True)] | None = Field(
        default=None, description="Only 32; the section precision decides."
    )
    enable_progress_bar: Boolean | None = Field(
        default=None, description="The progress bar, which carries what the run is judged by; false is refused."
    )
    enable_model_summary: Boolean | None = Field(default=None, description="Only false.")


class CheckpointConfig(BaseModel):
    """The section ``exp_manager.checkpoint_callback_params``: which checkpoints are kept."""

    model_config = ConfigDict(protected_namespaces=())

    monitor: YamlText | None = Field(default=None, description="Metric by which checkpoints are compared.")
    save_top_k: AnyInteger = Field(description="Checkpoints that are kept; -1 keeps all.", examples=[1])
    mode: t.Annotated[str, OneOf(("max", "min"), strict=True)] | None = Field(
        default=None, description="Whether a larger or a smaller value is better."
    )
    save_last: Boolean | None = Field(default=None, description="Keep one at the end of training as well.")
    filename: YamlText | None = Field(
        default=None, description="Name of a checkpoint.", examples=["llama--{step}-{consumed_samples}"]
    )
    model_parallel_size: Count | None = Field(
        default=None,
        description="Tensor × pipeline parallelism.",
        examples=["${multiply:${distributed_strategy.tensor_model_parallel_size}, 1}"],
    )
    every_n_train_steps: Count = Field(
        description="How often a checkpoint is written.", examples=[200], json_schema_extra={"unit": "steps"}
    )
    use_master_weights_in_ckpt: Boolean | None = Field(default=None, description="Save the FP32 master weights.")


class ExpManagerConfig(BaseModel):
    """The section ``exp_manager``: logs and checkpoints."""

    log_local_rank_0_only: Boolean = Field(default=False, description="Write a log file for local rank 0 only.")
    create_tensorboard_logger: Boolean = Field(default=False, description="Log to TensorBoard.")
    explicit_log_dir: YamlText | None = Field(
        description="Folder of logs and checkpoints; null takes the folder experiment in the node's run folder. On "
        "several nodes it has to be one that they share.",
        examples=["/shared/nxdt/llama3"],
        json_schema_extra={"variable": _OVERRIDDEN},
    )
    exp_dir: YamlText | None = Field(default=None, description="No effect, as explicit_log_dir is always given.")
    name: YamlText | None = Field(default=None, description="Name of the experiment.")
    resume_if_exists: Boolean = Field(default=False, description="Go on from the last checkpoint in explicit_log_dir.")
    resume_ignore_no_checkpoint: Boolean = Field(
        default=False, description="With resume_if_exists, begin anew where there is no checkpoint."
    )
    create_checkpoint_callback: Boolean | None = Field(default=None, description="Write checkpoints.")
    checkpoint_callback_params: CheckpointConfig | None = Field(default=None, description="Which checkpoints are kept.")
    log_parameter_norm: Boolean = Field(default=False, description="Log the norm of the parameters.")
    log_gradient_norm: Boolean = Field(default=False, description="Log the norm of the gradients.")
    enable_recovery_time_instrumentation: Boolean = Field(
        default=False, description="Print how long each part of a recovery takes."
    )
    save_xser: Boolean = Field(
        default=False, description="Save with torch-xla's serialization, much faster; it has to be loaded with it too."
    )
    load_xser: Boolean = Field(default=False, description="Load what was saved with save_xser.")
    save_bf16: Boolean | None = Field(default=None, description="Save the weights in BF16.")
    async_checkpointing: Boolean = Field(default=False, description="Go on training while a checkpoint is written.")
    resume_from_checkpoint: YamlText | None = Field(
        default=None, description="Checkpoint to load, for SFT and DPO the pretrained one."
    )
    ckpt_ptl_version: YamlText | None = Field(
        default=None, description="Version of PyTorch Lightning that wrote that checkpoint."
    )


class StrategyConfig(BaseModel):
    """The section ``distributed_strategy``: how the model is shared out to the devices."""

    tensor_model_parallel_size: Count = Field(
        description="How many devices share each layer.", examples=[8], json_schema_extra={"unit": "devices"}
    )
    pipeline_model_parallel_size: Count = Field(
        description="How many groups of devices share the layers, one after the other.",
        examples=[1],
        json_schema_extra={"unit": "stages"},
    )
    virtual_pipeline_model_parallel_size: Count | None = Field(
        description="How many pieces of the model each pipeline stage holds; 1 without interleaving.", examples=[1]
    )
    context_parallel_size: Count | None = Field(
        default=None,
        description="How many devices share each sequence.",
        json_schema_extra={"unit": "devices", "since": "1.3.0"},
    )
    expert_model_parallel_size: Count | None = Field(
        default=None,
        description="How many devices share the experts.",
        json_schema_extra={"unit": "devices", "since": "1.1.0"},
    )
    token_shuffle_group_size: Count | None = Field(
        default=None, description="How many devices exchange tokens, so that experts are used evenly."
    )
    zero1: Boolean = Field(description="Share the optimizer's state out to the data-parallel ranks.", examples=[True])
    sequence_parallel: Boolean = Field(
        description="Share the sequences out to the tensor-parallel ranks where layers allow it.", examples=[True]
    )
    kv_replicator: Count | None = Field(
        default=None,
        description="How often key/value heads are repeated, so that tensor parallelism divides them. A number, "
        "whatever NxDT's text says; it counts only with model.qkv_linear.",
    )


class NxdtConfig(BaseModel):
    """The top of the file."""

    model_config = ConfigDict(protected_namespaces=())

    name: YamlText = Field(
        description="Name of the experiment. With mixtral in it and model_source hf, Mixtral is trained, else Llama.",
        examples=["hf_llama"],
    )
    model_source: t.Annotated[str, OneOf(("megatron", "hf"), strict=True)] = Field(
        description="Where the model's code comes from.", examples=["hf"]
    )
    seed: Count = Field(description="Seed of all random numbers.", examples=[1234])
    trainer: TrainerConfig = Field(description="Settings of PyTorch Lightning's trainer.")
    exp_manager: ExpManagerConfig = Field(description="Logs and checkpoints.")
    distributed_strategy: StrategyConfig = Field(description="How the model is shared out to the devices.")
    data: DataConfig = Field(description="What is trained on.")
    model: ModelConfig = Field(description="Architecture and optimizer.")
    model_alignment_strategy: AlignmentConfig | None = Field(
        default=None, description="Fine-tuning (SFT, LoRA) or alignment (DPO, ORPO); none for pre-training."
    )
    precision: PrecisionConfig = Field(description="Number formats.")
    compiler_flags: YamlText = Field(
        description="Flags of the Neuron compiler. NxDT appends them itself, so the plan does not set the variable.",
        examples=["--model-type transformer"],
        json_schema_extra={"variable": "NEURON_CC_FLAGS"},
    )
    compiler_cache_url: YamlText = Field(
        description="Folder or S3 prefix of compiled graphs; where the nodes share it, each graph is compiled once.",
        examples=["/shared/neuron_cache"],
        json_schema_extra={"variable": "NEURON_COMPILE_CACHE_URL"},
    )
    aync_exec_max_inflight_requests: Natural = Field(
        description="Executions that wait in the runtime's queue. NxDT spells the key so.",
        examples=[5],
        json_schema_extra={"variable": "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS"},
    )
    bucket_size_collectives: Count = Field(
        description="Size of the tensors that gradients are gathered into.",
        examples=[1024],
        json_schema_extra={"unit": "MB", "variable": "BUCKET_CAP_MB"},
    )
    neuron_rt_exec_timeout: Count = Field(
        description="After this long the runtime gives an execution up.",
        examples=[100],
        json_schema_extra={"unit": "s", "variable": "NEURON_RT_EXEC_TIMEOUT"},
    )
    neuron_experimental_compress_rg: Boolean = Field(
        description="Compress replica groups.",
        examples=[False],
        json_schema_extra={"variable": "NEURON_EXPERIMENTAL_COMPRESS_RG"},
    )
    trainops: RunConfig = Field(
        default_factory=RunConfig,
        description="How to run, for this collection: the one section that NxDT itself does not read.",
    )
