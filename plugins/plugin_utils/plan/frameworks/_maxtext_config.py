# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of a CVS training config for JAX MaxText: every key, what it means, what it becomes.

CVS has had two shapes: one with a key for each variable, and a later one with objects (``env_vars``, ``xla_flags``,
``rdma_lib``). Both are read, also mixed.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._kinds import Kind, OneOf, Whole, plain, text_schema
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._types import (
    ContainerName,
    Environment,
    Flag,
    Fraction,
    FreeObject,
    IntegerOrAuto,
    Line,
    Name,
    NameList,
    NaturalInteger,
    Number,
    Path,
    PositiveInteger,
    Size,
    Text,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._container import ContainerConfig
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._expected import ExpectedResults
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._xla_flag_sets import FLAG_SETS


@dataclass(frozen=True)
class Grouped(Kind):
    """A whole number whose digits may be grouped with ``_`` as in YAML 1.1: ``500_000``."""

    kind: Whole

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return self.kind.words

    def read(self, value: t.Any) -> int:
        """Return the number."""
        bare = plain(value)
        if isinstance(bare, str) and re.fullmatch(r"[0-9]+(_[0-9]+)+", bare):
            bare = bare.replace("_", "")
        return self.kind.read(bare)

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the number, and the text with groups of digits."""
        return [*self.kind.schemas(), text_schema("[0-9]+(_[0-9]+)+")]


@dataclass(frozen=True)
class MeshAxis(Kind):
    """The size of an axis of the device mesh: 1 or more, or -1 for what the other axes leave."""

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return "a whole number of 1 or more, or -1 for what the other axes leave"

    def read(self, value: t.Any) -> int:
        """Return the size."""
        return -1 if plain(value) in (-1, "-1") else Whole(1).read(value)

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the number itself, and the number as text."""
        return [*Whole(1).schemas(), {"enum": [-1, "-1"]}]


GroupedInteger = t.Annotated[int, Grouped(Whole(1))]
Axis = t.Annotated[int, MeshAxis()]
Attention = t.Annotated[str, OneOf(("autoselected", "dot_product", "flash", "cudnn_flash_te", "cudnn_flash_jax"))]
Hardware = t.Annotated[str, OneOf(("gpu", "gpu_multiprocess", "tpu", "cpu"))]
FlagSet = t.Annotated[str, OneOf(tuple(FLAG_SETS))]
NumberFormat = t.Annotated[str, OneOf(("bfloat16", "float32", "float16"))]
DatasetType = t.Annotated[str, OneOf(("synthetic", "hf", "grain", "tfds", "c4_mlperf"))]


def _becomes(variable: str, unit: str = "") -> dict[str, t.Any]:
    return {"variable": variable, **({"unit": unit} if unit else {})}


class MaxTextConfig(BaseModel):
    """The section ``config``: how to run."""

    container_image: Text | None = Field(
        default=None,
        description="Image of the container; needed unless container_engine is none. Its tag tells where MaxText is.",
        examples=["rocm/jax-training:maxtext-v25.5"],
    )
    container_name: ContainerName = Field(default="maxtext_training", description="Name of the container on each node.")
    shm_size: Size = Field(default="256G", description="Size of the container's /dev/shm.")
    container_config: ContainerConfig = Field(
        default_factory=ContainerConfig, description="What of the node the container sees."
    )
    distributed_training: Flag | None = Field(
        default=None, description="Chooses between multi_node (True) and single_node where the file has both."
    )
    nnodes: PositiveInteger = Field(
        description="How many nodes take part; the inventory has to agree.",
        examples=[2],
        json_schema_extra=_becomes("NNODES", "nodes"),
    )
    coordinator_ip: Text | None = Field(
        default=None,
        description="Address of rank 0, where the nodes of a multi-node run meet; auto takes the inventory's.",
        examples=["auto"],
        json_schema_extra=_becomes("JAX_COORDINATOR_IP"),
    )
    training_steps: PositiveInteger = Field(
        description="How many steps to train; MaxText numbers them from 0.",
        examples=[20],
        json_schema_extra=_becomes("steps", "steps"),
    )
    enable_checkpointing: Flag = Field(
        default=False,
        description="Write checkpoints.",
        json_schema_extra=_becomes("enable_checkpointing"),
    )
    nic_type: Name | None = Field(
        default=None,
        description="Kind of the RDMA network cards. It is recorded with the run, and tells which GID index is usual.",
        examples=["thor2"],
    )
    nccl_ib_hca: NameList | None = Field(
        default=None,
        description="RDMA devices over which the nodes exchange gradients.",
        examples=["bnxt_re0,bnxt_re1"],
        json_schema_extra=_becomes("NCCL_IB_HCA"),
    )
    nccl_ib_hca_list: NameList | None = Field(
        default=None,
        description="The same as nccl_ib_hca, which goes first.",
        examples=["bnxt_re0,bnxt_re1"],
        json_schema_extra=_becomes("NCCL_IB_HCA"),
    )
    nccl_socket_ifname: NameList | None = Field(
        default=None,
        description="Network interfaces over which the ranks of NCCL or RCCL find each other; auto takes the one "
        "that leads to rank 0.",
        examples=["ens51f1np1"],
        json_schema_extra=_becomes("NCCL_SOCKET_IFNAME"),
    )
    gloo_socket_ifname: NameList | None = Field(
        default=None,
        description="Network interfaces over which the ranks of Gloo find each other; auto takes the one that leads "
        "to rank 0.",
        examples=["ens51f1np1"],
        json_schema_extra=_becomes("GLOO_SOCKET_IFNAME"),
    )
    nccl_ib_gid_index: IntegerOrAuto | None = Field(
        default=None,
        description="Which entry of an RDMA device's GID table is used; with auto preflight proposes one.",
        examples=[3],
        json_schema_extra=_becomes("NCCL_IB_GID_INDEX"),
    )
    nccl_debug: Name | None = Field(
        default=None,
        description="How much NCCL or RCCL logs.",
        examples=["ERROR"],
        json_schema_extra=_becomes("NCCL_DEBUG"),
    )
    nccl_proto: Name | None = Field(
        default=None,
        description="Protocols that NCCL or RCCL may use.",
        examples=["Simple"],
        json_schema_extra=_becomes("NCCL_PROTO"),
    )
    nccl_ib_tc: NaturalInteger | None = Field(
        default=None, description="Traffic class of RDMA.", examples=[41], json_schema_extra=_becomes("NCCL_IB_TC")
    )
    nccl_ib_sl: NaturalInteger | None = Field(
        default=None, description="Service level of RDMA.", examples=[0], json_schema_extra=_becomes("NCCL_IB_SL")
    )
    nccl_checks_disable: Flag | None = Field(
        default=None,
        description="Leave out NCCL's checks of arguments.",
        examples=[1],
        json_schema_extra=_becomes("NCCL_CHECKS_DISABLE"),
    )
    gpu_max_hw_queues: PositiveInteger | None = Field(
        default=None,
        description="Hardware queues of a GPU.",
        examples=[2],
        json_schema_extra=_becomes("GPU_MAX_HW_QUEUES", "queues"),
    )
    nvte_ck_bwd_v3: Flag | None = Field(
        default=None,
        description="Use version 3 of Transformer Engine's attention kernels backwards.",
        examples=[1],
        json_schema_extra=_becomes("NVTE_CK_BWD_V3"),
    )
    nvte_ck_v3_bf16_cvt: NaturalInteger | None = Field(
        default=None,
        description="How these kernels round to BF16.",
        examples=[2],
        json_schema_extra=_becomes("NVTE_CK_V3_BF16_CVT"),
    )
    xla_python_client_mem_fraction: Fraction | None = Field(
        default=None,
        description="Part of the GPU's memory that JAX reserves.",
        examples=[0.975],
        json_schema_extra=_becomes("XLA_PYTHON_CLIENT_MEM_FRACTION", "fraction of the whole, 0 to 1"),
    )
    xla_gpu_executable_warn_stuck_timeout: PositiveInteger | None = Field(
        default=None,
        description="How long a GPU program may take before that is logged.",
        examples=[90],
        json_schema_extra=_becomes("XLA_GPU_EXECUTABLE_WARN_STUCK_TIMEOUT", "s"),
    )
    env_vars: Environment = Field(
        default={},
        description="Variables of the training besides those that the plan sets, which win. No secrets.",
        examples=[{"NCCL_PROTO": "Simple"}],
    )
    xla_flags: FreeObject = Field(
        default={},
        description="Flags of XLA, each with its value.",
        examples=[{"xla_gpu_autotune_level": 4}],
        json_schema_extra=_becomes("XLA_FLAGS"),
    )
    xla_flag_set: FlagSet | None = Field(
        default=None,
        description="Flags of a high-performance script of MaxText, by its path below src/maxtext/configs. "
        "Flags of xla_flags go before those of the same name.",
        examples=["gpu/a3/llama_2_7b/2vm"],
        json_schema_extra=_becomes("XLA_FLAGS or LIBTPU_INIT_ARGS"),
    )
    rdma_lib: FreeObject = Field(
        default={},
        description="No effect. Where CVS copies an RDMA library from; here volume_dict brings it into the container.",
    )
    hf_token_file: Path | None = Field(
        default=None,
        description="File with the Hugging Face token. Only its path stands in a plan, never the token.",
        examples=["/home/{user-id}/.hf_token"],
        json_schema_extra=_becomes("HF_TOKEN_PATH"),
    )
    data_cache_dir: Path = Field(
        default="/home/{user-id}/cache",
        description="Cache of what comes from the Hugging Face hub.",
        json_schema_extra=_becomes("HF_HOME"),
    )
    log_dir: Path = Field(
        description="Folder on each node that takes a folder per run and node.",
        examples=["/home/{user-id}/LOGS"],
    )
    mock_data: Flag | None = Field(
        default=None, description="No effect. What MaxText trains on is said by dataset_type of the branch."
    )
    dataset_source: FreeObject = Field(default={}, description="No effect. Where CVS would fetch a dataset from.")


class MaxTextModelParameters(BaseModel):
    """A branch ``model_params.<mode>.<model>.<gpu>``: what to train there. Most keys are MaxText's own."""

    model_config = ConfigDict(protected_namespaces=())

    model_name: Name | None = Field(
        default=None,
        description="MaxText's name of the model; without it the branch's own.",
        examples=["llama3.1-70b"],
        json_schema_extra=_becomes("model_name"),
    )
    per_device_batch_size: Number = Field(
        description="Sequences of one step on each GPU.",
        examples=[3],
        json_schema_extra=_becomes("per_device_batch_size", "sequences"),
    )
    max_target_length: GroupedInteger = Field(
        description="Length of a sequence.",
        examples=[8192],
        json_schema_extra=_becomes("max_target_length", "tokens"),
    )
    gradient_accumulation_steps: PositiveInteger | None = Field(
        default=None,
        description="Batches that make one step; without it 1.",
        json_schema_extra=_becomes("gradient_accumulation_steps", "batches"),
    )
    hardware: Hardware = Field(
        default="gpu",
        description="What trains. gpu takes one process a node, which meet by JAX_COORDINATOR_IP.",
        json_schema_extra=_becomes("hardware"),
    )
    attention: Attention | None = Field(
        default=None,
        description="Implementation of the attention.",
        examples=["cudnn_flash_te"],
        json_schema_extra=_becomes("attention"),
    )
    dcn_data_parallelism: Axis | None = Field(
        default=None,
        description="Replicas of the model among the nodes; without it it is what the others leave.",
        json_schema_extra=_becomes("dcn_data_parallelism"),
    )
    dcn_fsdp_parallelism: Axis | None = Field(
        default=None,
        description="Shards of the parameters among the nodes; without it it is 1.",
        json_schema_extra=_becomes("dcn_fsdp_parallelism"),
    )
    dcn_fsdp_transpose_parallelism: Axis | None = Field(
        default=None,
        description="Size of the axis fsdp_transpose among the nodes; without it it is 1.",
        json_schema_extra=_becomes("dcn_fsdp_transpose_parallelism"),
    )
    dcn_sequence_parallelism: Axis | None = Field(
        default=None,
        description="Shards of the sequence among the nodes; without it it is 1.",
        json_schema_extra=_becomes("dcn_sequence_parallelism"),
    )
    dcn_context_parallelism: Axis | None = Field(
        default=None,
        description="Shards of the context among the nodes; without it it is 1.",
        json_schema_extra=_becomes("dcn_context_parallelism"),
    )
    dcn_tensor_parallelism: Axis | None = Field(
        default=None,
        description="Shards of each layer among the nodes; without it it is 1.",
        json_schema_extra=_becomes("dcn_tensor_parallelism"),
    )
    dcn_tensor_transpose_parallelism: Axis | None = Field(
        default=None,
        description="Size of the axis tensor_transpose among the nodes; without it it is 1.",
        json_schema_extra=_becomes("dcn_tensor_transpose_parallelism"),
    )
    dcn_tensor_sequence_parallelism: Axis | None = Field(
        default=None,
        description="Size of the axis tensor_sequence among the nodes; without it it is 1.",
        json_schema_extra=_becomes("dcn_tensor_sequence_parallelism"),
    )
    dcn_pipeline_parallelism: Axis | None = Field(
        default=None,
        description="Pipeline stages among the nodes; without it it is 1.",
        json_schema_extra=_becomes("dcn_pipeline_parallelism"),
    )
    dcn_expert_parallelism: Axis | None = Field(
        default=None,
        description="Shards of the experts among the nodes; without it it is 1.",
        json_schema_extra=_becomes("dcn_expert_parallelism"),
    )
    dcn_autoregressive_parallelism: Axis | None = Field(
        default=None,
        description="Size of the axis autoregressive among the nodes; without it it is 1.",
        json_schema_extra=_becomes("dcn_autoregressive_parallelism"),
    )
    ici_data_parallelism: Axis | None = Field(
        default=None,
        description="Replicas of the model among the GPUs of a node; without it it is 1.",
        json_schema_extra=_becomes("ici_data_parallelism"),
    )
    ici_fsdp_parallelism: Axis | None = Field(
        default=None,
        description="Shards of the parameters among the GPUs of a node; without it it is what the others leave.",
        json_schema_extra=_becomes("ici_fsdp_parallelism"),
    )
    ici_fsdp_transpose_parallelism: Axis | None = Field(
        default=None,
        description="Size of the axis fsdp_transpose among the GPUs of a node; without it it is 1.",
        json_schema_extra=_becomes("ici_fsdp_transpose_parallelism"),
    )
    ici_sequence_parallelism: Axis | None = Field(
        default=None,
        description="Shards of the sequence among the GPUs of a node; without it it is 1.",
        json_schema_extra=_becomes("ici_sequence_parallelism"),
    )
    ici_context_parallelism: Axis | None = Field(
        default=None,
        description="Shards of the context among the GPUs of a node; without it it is 1.",
        json_schema_extra=_becomes("ici_context_parallelism"),
    )
    ici_tensor_parallelism: Axis | None = Field(
        default=None,
        description="Shards of each layer among the GPUs of a node; without it it is 1.",
        json_schema_extra=_becomes("ici_tensor_parallelism"),
    )
    ici_tensor_transpose_parallelism: Axis | None = Field(
        default=None,
        description="Size of the axis tensor_transpose among the GPUs of a node; without it it is 1.",
        json_schema_extra=_becomes("ici_tensor_transpose_parallelism"),
    )
    ici_tensor_sequence_parallelism: Axis | None = Field(
        default=None,
        description="Size of the axis tensor_sequence among the GPUs of a node; without it it is 1.",
        json_schema_extra=_becomes("ici_tensor_sequence_parallelism"),
    )
    ici_pipeline_parallelism: Axis | None = Field(
        default=None,
        description="Pipeline stages among the GPUs of a node; without it it is 1.",
        json_schema_extra=_becomes("ici_pipeline_parallelism"),
    )
    ici_expert_parallelism: Axis | None = Field(
        default=None,
        description="Shards of the experts among the GPUs of a node; without it it is 1.",
        json_schema_extra=_becomes("ici_expert_parallelism"),
    )
    ici_autoregressive_parallelism: Axis | None = Field(
        default=None,
        description="Size of the axis autoregressive among the GPUs of a node; without it it is 1.",
        json_schema_extra=_becomes("ici_autoregressive_parallelism"),
    )
    quantization: Line | None = Field(
        default=None,
        description="Number format of the matrix products, such as fp8 or nanoo_fp8; empty for that of dtype.",
        examples=["fp8"],
        json_schema_extra=_becomes("quantization"),
    )
    dtype: NumberFormat | None = Field(
        default=None,
        description="Number format of activations.",
        examples=["bfloat16"],
        json_schema_extra=_becomes("dtype"),
    )
    weight_dtype: NumberFormat | None = Field(
        default=None,
        description="Number format of the parameters.",
        examples=["bfloat16"],
        json_schema_extra=_becomes("weight_dtype"),
    )
    remat_policy: Name | None = Field(
        default=None,
        description="What of the activations is kept and what is computed again.",
        examples=["full"],
        json_schema_extra=_becomes("remat_policy"),
    )
    scan_layers: Flag | None = Field(
        default=None, description="Compile one layer for all.", json_schema_extra=_becomes("scan_layers")
    )
    use_iota_embed: Flag | None = Field(
        default=None,
        description="Look up embeddings by a product of matrices.",
        json_schema_extra=_becomes("use_iota_embed"),
    )
    packing: Flag | None = Field(
        default=None, description="Put several texts into one sequence.", json_schema_extra=_becomes("packing")
    )
    max_segments_per_seq: PositiveInteger | None = Field(
        default=None,
        description="How many texts one sequence may hold at most.",
        examples=[32],
        json_schema_extra=_becomes("max_segments_per_seq", "texts"),
    )
    dataset_type: DatasetType | None = Field(
        default=None,
        description="What to train on; synthetic needs no data.",
        examples=["synthetic"],
        json_schema_extra=_becomes("dataset_type"),
    )
    hf_path: Line | None = Field(
        default=None,
        description="Dataset on the Hugging Face hub, or its format.",
        examples=["parquet"],
        json_schema_extra=_becomes("hf_path"),
    )
    hf_train_files: Line | None = Field(
        default=None, description="Files of the dataset.", json_schema_extra=_becomes("hf_train_files")
    )
    tokenizer_path: Line | None = Field(
        default=None,
        description="Tokenizer: a path, or a name on the Hugging Face hub.",
        json_schema_extra=_becomes("tokenizer_path"),
    )
    base_output_directory: Line | None = Field(
        default=None,
        description="Where MaxText writes checkpoints and TensorBoard files; without it the run's folder.",
        json_schema_extra=_becomes("base_output_directory"),
    )
    async_checkpointing: Flag | None = Field(
        default=None,
        description="Write checkpoints in the background.",
        json_schema_extra=_becomes("async_checkpointing"),
    )
    logits_dot_in_fp32: Flag | None = Field(
        default=None, description="Compute the logits in FP32.", json_schema_extra=_becomes("logits_dot_in_fp32")
    )
    megablox: Flag | None = Field(
        default=None, description="Use Megablox for experts.", json_schema_extra=_becomes("megablox")
    )
    quantize_kvcache: Flag | None = Field(
        default=None, description="Quantize the key/value cache.", json_schema_extra=_becomes("quantize_kvcache")
    )
    kv_quant_axis: Name | None = Field(
        default=None, description="Axes of that quantization.", json_schema_extra=_becomes("kv_quant_axis")
    )
    kv_quant_dtype: Name | None = Field(
        default=None, description="Number format of that quantization.", json_schema_extra=_becomes("kv_quant_dtype")
    )
    checkpoint_is_quantized: Flag | None = Field(
        default=None,
        description="Whether the checkpoint that is read is quantized.",
        json_schema_extra=_becomes("checkpoint_is_quantized"),
    )
    skip_first_n_steps_for_profiler: NaturalInteger | None = Field(
        default=None,
        description="Steps before profiling begins.",
        json_schema_extra=_becomes("skip_first_n_steps_for_profiler"),
    )
    base_emb_dim: GroupedInteger | None = Field(
        default=None,
        description="Size of the embedding. The preset of the model's name goes first.",
        json_schema_extra=_becomes("base_emb_dim"),
    )
    base_num_query_heads: GroupedInteger | None = Field(
        default=None,
        description="Attention heads. The preset of the model's name goes first.",
        json_schema_extra=_becomes("base_num_query_heads"),
    )
    base_num_kv_heads: GroupedInteger | None = Field(
        default=None,
        description="Key/value heads. The preset of the model's name goes first.",
        json_schema_extra=_becomes("base_num_kv_heads"),
    )
    base_num_decoder_layers: GroupedInteger | None = Field(
        default=None,
        description="Layers. The preset of the model's name goes first.",
        json_schema_extra=_becomes("base_num_decoder_layers"),
    )
    base_mlp_dim: GroupedInteger | None = Field(
        default=None,
        description="Size of the feed-forward layers. The preset of the model's name goes first.",
        json_schema_extra=_becomes("base_mlp_dim"),
    )
    head_dim: GroupedInteger | None = Field(
        default=None,
        description="Size of an attention head. The preset of the model's name goes first.",
        json_schema_extra=_becomes("head_dim"),
    )
    vocab_size: GroupedInteger | None = Field(
        default=None,
        description="Tokens of the vocabulary. The preset of the model's name goes first.",
        json_schema_extra=_becomes("vocab_size"),
    )
    mlp_activations: NameList | None = Field(
        default=None,
        description="Activations of the feed-forward layers.",
        examples=[["silu", "linear"]],
        json_schema_extra=_becomes("mlp_activations"),
    )
    enable_dropout: Flag | None = Field(
        default=None, description="Drop activations at random.", json_schema_extra=_becomes("enable_dropout")
    )
    logits_via_embedding: Flag | None = Field(
        default=None,
        description="Use the embedding's parameters for the logits.",
        json_schema_extra=_becomes("logits_via_embedding"),
    )
    normalization_layer_epsilon: Number | None = Field(
        default=None,
        description="Epsilon of the normalization.",
        examples=[1.0e-5],
        json_schema_extra=_becomes("normalization_layer_epsilon"),
    )
    rope_max_timescale: GroupedInteger | None = Field(
        default=None,
        description="Base of the rotary embedding.",
        examples=[500000],
        json_schema_extra=_becomes("rope_max_timescale"),
    )
    decoder_block: Name | None = Field(
        default=None,
        description="Kind of the layers.",
        examples=["llama2"],
        json_schema_extra=_becomes("decoder_block"),
    )
    jax_distributed_initialization_timeout: PositiveInteger | None = Field(
        default=None,
        description="How long the nodes wait for each other at the start.",
        examples=[1800],
        json_schema_extra=_becomes("jax_distributed_initialization_timeout"),
    )
    jax_cache_dir: Line | None = Field(
        default=None, description="Where compiled programs are kept.", json_schema_extra=_becomes("jax_cache_dir")
    )
    override_model_config: Flag | None = Field(
        default=None,
        description="Let arguments of the command line win over the model's preset.",
        json_schema_extra=_becomes("override_model_config"),
    )
    tokenizer_model: Line | None = Field(default=None, description="No effect: tokenizer_path names the tokenizer.")
    model_size: Line | None = Field(default=None, description="No effect: the model's name says its size.")
    batch_size: Line | None = Field(default=None, description="No effect: the batch is made of per_device_batch_size.")
    micro_batch_size: Line | None = Field(
        default=None, description="No effect: the batch is made of per_device_batch_size."
    )
    precision: Line | None = Field(default=None, description="No effect: quantization and dtype say the number format.")
    sequence_length: Line | None = Field(default=None, description="No effect: max_target_length says it.")
    tensor_parallelism: Line | None = Field(
        default=None, description="No effect: dcn_tensor_parallelism and ici_tensor_parallelism say it."
    )
    pipeline_parallelism: Line | None = Field(
        default=None, description="No effect: dcn_pipeline_parallelism and ici_pipeline_parallelism say it."
    )
    recompute: Line | None = Field(default=None, description="No effect: remat_policy says it.")
    fsdp: Line | None = Field(
        default=None, description="No effect: dcn_fsdp_parallelism and ici_fsdp_parallelism say it."
    )
    xla_flags: FreeObject = Field(
        default={},
        description="The same as config.xla_flags, for this branch.",
        json_schema_extra=_becomes("XLA_FLAGS"),
    )
    result_dict: ExpectedResults = Field(default_factory=ExpectedResults, description="Thresholds of the verdict.")
