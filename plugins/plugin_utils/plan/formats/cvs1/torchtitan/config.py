# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of a CVS training config for TorchTitan: every key and its meaning."""

from __future__ import annotations

import typing as t

from pydantic import Field

from ....config.field_types import Flag, NaturalInteger, Number, Path, PositiveInteger, Text
from ....config.key_tables import read_tables, with_keys
from ....config.kinds import OneOf, Whole, Words
from ....config.model import ConfigSection, key, optional
from ....job.thresholds import ExpectedResults
from .. import config_fields as cvs

Degree = t.Annotated[int, Whole(1)]
Shards = t.Annotated[int, Whole(-1)]


@with_keys(read_tables(__file__)["config"])
class TitanConfig(ConfigSection):
    """The section ``config``: how to run."""

    container_image: Text | None = optional(
        "Container image with TorchTitan; required unless container_engine is none.", example="rocm/primus:v26.5"
    )
    container_name: cvs.ContainerName = "torchtitan_training"
    shm_size: cvs.ShmSize = "128G"
    container_config: cvs.ContainerSection
    distributed_training: cvs.DistributedTraining = None
    nnodes: cvs.Nnodes = Field(examples=[4])
    master_address: Text | None = optional(
        "Address of rank 0, where the nodes of a multi-node run meet; auto takes the inventory's.",
        example="auto",
        variable="--master_addr",
    )
    training_iterations: PositiveInteger = key("How many steps to train.", default=10, unit="steps")
    log_freq: PositiveInteger = key(
        "Every how many steps a line is printed. No key of CVS, which leaves it at TorchTitan's 10.",
        default=1,
        unit="steps",
    )
    nic_type: cvs.NicType = None
    nccl_ib_hca_list: cvs.RdmaDevices = optional("RDMA devices over which the nodes exchange gradients.")
    nccl_ib_hca: cvs.RdmaDevices = optional("The same as nccl_ib_hca_list, which takes precedence.")
    nccl_socket_ifname: cvs.NcclSocketIfname = None
    gloo_socket_ifname: cvs.GlooSocketIfname = None
    nccl_ib_gid_index: cvs.GidIndex = None
    nccl_debug: cvs.NcclDebug = None
    hf_token_file: Path | None = optional(
        "File with the Hugging Face token. The plan contains only its path, never the token.",
        example="/home/{user-id}/.hf_token",
        variable="HF_TOKEN",
    )
    log_dir: Path = key(
        "Log folder on each node, with one subfolder per run and node.", example="/home/{user-id}/LOG_DIR"
    )
    torchtitan_root: Path = key(
        "Folder of TorchTitan in the container, where training starts.",
        default="/workspace/Primus/third_party/torchtitan",
    )
    use_generated_config: Flag = key(
        "Train by this file. False, which makes CVS use a file in the image, is refused.", default=True
    )


class TitanResults(ExpectedResults):
    """Thresholds of the verdict, with CVS's name for TorchTitan's rate."""

    tokens_per_sec: Number | None = optional("The same as tokens_per_gpu.", unit="tokens/s per GPU")


class TitanParameters(ConfigSection):
    """A branch ``model_params.<mode>.<model>.<gpu>``: what to train there."""

    model_size: Text = key("Size of the model.", example="8b")
    tokenizer_path: Text | None = optional(
        "Hugging Face repository of the tokenizer, which is fetched before the training.",
        example="meta-llama/Llama-3.1-8B",
    )
    tokenizer_folder: Text | None = optional(
        "Folder with the tokenizer on each node; nothing is fetched then. Not a key of CVS.",
        example="/data/Llama-3.1-8B",
    )
    hf_assets_path: Text = key(
        "Folder that the tokenizer is fetched into, in a subfolder with its name.", default="./assets/hf"
    )
    dataset: Text = key("Dataset.", default="c4")
    global_batch_size: PositiveInteger = key("Sequences in a step.", example=128, unit="sequences")
    micro_batch_size: PositiveInteger = key("Sequences of a data-parallel rank at a time.", example=1, unit="sequences")
    sequence_length: PositiveInteger = key("Length of a sequence.", default=8192, unit="tokens")
    precision: t.Annotated[str, OneOf(("bf16", "fp8"))] | None = optional(
        "Number format. CVS passes no converter to TorchTitan, so fp8 trains in BF16 as well; see converters.",
        example="bf16",
    )
    enable_float8: Flag | None = optional("The same as precision fp8.")
    converters: t.Annotated[t.Any, Words("a list of names")] = optional(
        "Converters of TorchTitan, as in quantize.linear.float8, which trains in FP8. CVS passes none on.",
        example=["quantize.linear.float8"],
    )
    precompute_float8_dynamic_scale_for_fsdp: Flag = key("Compute the scales of FP8 at once, with FSDP.", default=False)
    lr: Number = key("Learning rate.", default=3e-4)
    warmup_steps: NaturalInteger = key("Steps while the learning rate rises.", default=200, unit="steps")
    activation_checkpointing: t.Annotated[str, OneOf(("selective", "full", "memory_budget", "none"))] = key(
        "Which activations are recomputed.", default="selective"
    )
    compile: Flag = key("Compile the model.", default=False)
    enable_async_tensor_parallel: Flag = key(
        "Overlap tensor parallelism with its communication; needs compile.", default=False
    )
    data_parallel_shard_degree: Shards = key("GPUs that FSDP shards a copy over; -1 takes the rest.", default=-1)
    tensor_parallel_degree: Degree = key("GPUs that share each layer.", default=1, unit="GPUs")
    pipeline_parallel_degree: Degree = key("Pipeline stages.", default=1, unit="stages")
    context_parallel_degree: Degree = key("GPUs that share each sequence.", default=1, unit="GPUs")
    expert_parallel_degree: Degree = key("GPUs that share the experts.", default=1, unit="GPUs")
    result_dict: TitanResults = key("Thresholds of the verdict.", default_factory=TitanResults)
