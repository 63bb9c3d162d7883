# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of a TorchTitan config in TOML.

Source: torchtitan/config/job_config.py of pytorch/torchtitan 0.2.2, the last version that reads TOML.
"""

from __future__ import annotations

import typing as t

from ...config.field_types import AnyInteger, Boolean, Count, FreeObject, YamlText
from ...config.key_tables import with_keys
from ...config.kinds import OneOf, Words
from ...config.model import ConfigSection, key, optional
from .keys import KEYS
from .run_config import RunConfig

Names = t.Annotated[list[YamlText], Words("a list of names")]
_TYPES = ("bfloat16", "float32")


@with_keys(KEYS["job"], strict=True)
class JobTable(ConfigSection):
    """The table ``job``."""

    config_file: YamlText | None = optional("No effect: the run's copy of this file is used.")
    dump_folder: YamlText | None = optional(
        "Folder for checkpoints and traces; one that is not absolute lies in the node's run folder.",
        example="/shared/torchtitan/llama3",
    )
    custom_config_module: YamlText | None = optional("Module with further keys; those are not checked.")


@with_keys(KEYS["metrics"], strict=True)
class MetricsTable(ConfigSection):
    """The table ``metrics``: the reported metrics."""

    log_freq: Count = key("Every how many steps a line is printed.", default=10, unit="steps")


@with_keys(KEYS["model"], strict=True)
class ModelTable(ConfigSection):
    """The table ``model``."""

    name: YamlText = key("Name of the model.", default="llama3")
    flavor: YamlText = key("Its size.", default="debugmodel", example="8B")
    hf_assets_path: YamlText = key(
        "Folder of the tokenizer, on each node.", default="./tests/assets/tokenizer", example="/data/Llama-3.1-8B"
    )
    converters: Names = key(
        "What the model is converted with: quantize.linear.float8 trains in FP8.",
        default=[],
        example=["quantize.linear.float8"],
    )


@with_keys(KEYS["training"], strict=True)
class TrainingTable(ConfigSection):
    """The table ``training``: batch, sequence and steps."""

    local_batch_size: Count = key("Sequences of a data-parallel rank at a time.", default=8, unit="sequences")
    global_batch_size: AnyInteger = key(
        "Sequences in a step; -1 is the local batch size × data parallelism.", default=-1, unit="sequences"
    )
    seq_len: Count = key("Length of a sequence.", default=2048, unit="tokens")
    steps: Count = key("Steps to train.", default=10000, unit="steps")
    dtype: t.Annotated[str, OneOf(_TYPES, strict=True)] = key("Number format of the weights.", default="float32")
    mixed_precision_param: t.Annotated[str, OneOf(_TYPES, strict=True)] = key(
        "Number format that FSDP computes in.", default="bfloat16"
    )
    mixed_precision_reduce: t.Annotated[str, OneOf(("float32",), strict=True)] = key(
        "Number format of the gradients' reduction.", default="float32"
    )


@with_keys(KEYS["parallelism"], strict=True)
class ParallelismTable(ConfigSection):
    """The table ``parallelism``; the product of all but the experts' degrees is the number of GPUs."""

    data_parallel_replicate_degree: Count = key("Copies of the (sharded) model.", default=1)
    data_parallel_shard_degree: AnyInteger = key("GPUs that FSDP shards a copy over; -1 takes the rest.", default=-1)
    tensor_parallel_degree: Count = key("GPUs that share each layer.", default=1, unit="GPUs")
    pipeline_parallel_degree: Count = key("Pipeline stages.", default=1, unit="stages")
    pipeline_parallel_microbatch_size: Count = key("Sequences of a pipeline's micro batch.", default=1)
    context_parallel_degree: Count = key("GPUs that share each sequence.", default=1, unit="GPUs")
    expert_parallel_degree: Count = key("GPUs that share the experts.", default=1, unit="GPUs")
    expert_tensor_parallel_degree: Count = key("GPUs that share each expert: 1, or as each layer.", default=1)


@with_keys(KEYS["checkpoint"], strict=True)
class CheckpointTable(ConfigSection):
    """The table ``checkpoint``."""

    enable: Boolean = key("Write checkpoints, and go on from the last one in the folder.", default=False)
    folder: YamlText = key("Folder of the checkpoints in job.dump_folder.", default="checkpoint")


@with_keys(KEYS["activation_checkpoint"], strict=True)
class ActivationCheckpointTable(ConfigSection):
    """The table ``activation_checkpoint``: the recomputed activations."""

    mode: t.Annotated[str, OneOf(("selective", "full", "memory_budget", "none"), strict=True)] = key(
        "Which activations are recomputed.", default="selective"
    )


@with_keys(KEYS["compile"], strict=True)
class CompileTable(ConfigSection):
    """The table ``compile``."""

    enable: Boolean = key("Compile the model.", default=False)


class TorchTitanConfig(ConfigSection):
    """The top level of the file."""

    job: JobTable = key("What the run writes.", default_factory=JobTable)
    model: ModelTable = key("The model.", default_factory=ModelTable)
    training: TrainingTable = key("Batch, sequence and steps.", default_factory=TrainingTable)
    parallelism: ParallelismTable = key("How the model is distributed over the GPUs.", default_factory=ParallelismTable)
    metrics: MetricsTable = key("What is reported.", default_factory=MetricsTable)
    checkpoint: CheckpointTable = key("Checkpoints.", default_factory=CheckpointTable)
    activation_checkpoint: ActivationCheckpointTable = key(
        "What is recomputed.", default_factory=ActivationCheckpointTable
    )
    compile: CompileTable = key("Compilation.", default_factory=CompileTable)
    optimizer: FreeObject | None = optional("The optimizer; not checked.")
    lr_scheduler: FreeObject | None = optional("The learning rate; not checked.")
    quantize: FreeObject | None = optional("Settings of the quantizing converters of model.converters; not checked.")
    validation: FreeObject | None = optional("Validation; not checked.")
    profiling: FreeObject | None = optional("Profiles; not checked.")
    comm: FreeObject | None = optional("Timeouts and traces of the communication; not checked.")
    debug: FreeObject | None = optional("Seed and determinism; not checked.")
    memory_estimation: FreeObject | None = optional("Estimate the memory; not checked.")
    fault_tolerance: FreeObject | None = optional(
        "Replicas that may fail, which torchtitan.experiments.ft.train trains; only enable and group_size are checked."
    )
    experimental: FreeObject | None = optional("Further modules; not checked.")
    trainops: RunConfig = key(
        "How to run: read only by this collection, and left out of what TorchTitan reads.", default_factory=RunConfig
    )
