# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of a CVS training config for Megatron-LM: every key, what it means, what it becomes."""

from __future__ import annotations

import re
import typing as t

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._types import (
    Expected,
    Flag,
    Name,
    NameList,
    NaturalInteger,
    Path,
    PositiveInteger,
    Size,
    Text,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._cvs import (
    ContainerConfig,
    ExpectedResults,
)

NIC_TYPES = ("thor2", "thor", "broadcom", "ainic", "cx7", "none")
PRECISIONS = {"TE_FP8": "fp8", "TE_BF16": "bf16", "TE_FP16": "fp16", "TE_F16": "fp16"}


def _one_of(known: t.Iterable[str], fold: t.Callable[[str], str]) -> AfterValidator:
    known = tuple(known)

    def check(value: str) -> str:
        if fold(value) not in known:
            raise ValueError(f"is none of {', '.join(known)}")
        return fold(value)

    return AfterValidator(check)


def _model_size(value: str) -> str:
    billions = re.fullmatch(r"([0-9]+)[bB]", value)
    return billions.group(1) if billions else value


NicType = t.Annotated[Text, _one_of(NIC_TYPES, str.casefold), Expected(f"one of {', '.join(NIC_TYPES)}")]
Precision = t.Annotated[Text, _one_of(PRECISIONS, str.upper), Expected(f"one of {', '.join(PRECISIONS)}")]
ModelSize = t.Annotated[Name, AfterValidator(_model_size), Expected("the size that the training script knows")]


class MegatronConfig(BaseModel):
    """The section ``config``: how to run."""

    container_image: Text | None = Field(
        default=None, description="Image of the container.", examples=["rocm/megatron-lm:v25.5_py310"]
    )
    container_name: Name = Field(default="megatron_training", description="Name of the container on each node.")
    distributed_training: Flag | None = Field(
        default=None, description="Chooses between single_node and multi_node where the file has both."
    )
    nnodes: PositiveInteger = Field(
        description="How many nodes take part; the inventory has to agree.", json_schema_extra={"unit": "nodes"}
    )
    master_address: Text | None = Field(
        default=None,
        description="Address of rank 0, where the nodes of a multi-node run meet. auto takes it from the inventory.",
        json_schema_extra={"variable": "MASTER_ADDR"},
    )
    training_iterations: PositiveInteger = Field(
        description="How many steps to train.",
        examples=[30],
        json_schema_extra={"unit": "steps", "variable": "TOTAL_ITERS"},
    )
    nic_type: NicType | None = Field(default=None, description="Kind of the RDMA network cards.")
    hca_id_pattern: str | None = Field(default=None, description="Names of RDMA devices that CVS looks for.")
    nccl_ib_hca_list: NameList | None = Field(
        default=None,
        description="RDMA devices that carry the all-reduce.",
        examples=["bnxt_re0,bnxt_re1"],
        json_schema_extra={"variable": "NCCL_IB_HCA"},
    )
    nccl_ib_hca: NameList | None = Field(
        default=None,
        description="The same as nccl_ib_hca_list, which goes first.",
        json_schema_extra={"variable": "NCCL_IB_HCA"},
    )
    nccl_socket_ifname: NameList | None = Field(
        default=None,
        description="Network interface over which NCCL or RCCL meets.",
        examples=["ens51f1np1"],
        json_schema_extra={"variable": "NCCL_SOCKET_IFNAME"},
    )
    gloo_socket_ifname: NameList | None = Field(
        default=None,
        description="Network interface over which Gloo meets.",
        examples=["ens51f1np1"],
        json_schema_extra={"variable": "GLOO_SOCKET_IFNAME"},
    )
    nccl_ib_gid_index: NaturalInteger | None = Field(
        default=None,
        description="Entry of the RDMA device's GID table that is used.",
        examples=[3],
        json_schema_extra={"variable": "NCCL_IB_GID_INDEX"},
    )
    nccl_debug: Name | None = Field(
        default=None,
        description="How much NCCL or RCCL tells.",
        examples=["ERROR"],
        json_schema_extra={"variable": "NCCL_DEBUG"},
    )
    hf_token_file: Path | None = Field(
        default=None,
        description="File with the Hugging Face token; only its path is ever used.",
        json_schema_extra={"variable": "HF_TOKEN_PATH"},
    )
    shm_size: Size = Field(default="128G", description="Size of the container's /dev/shm.")
    data_cache_dir: Path = Field(
        default="/home/{user-id}/cache",
        description="Cache of the dataset's index; all nodes of a multi-node run have to share it.",
        json_schema_extra={"variable": "DATA_CACHE_PATH"},
    )
    mock_data: Flag = Field(
        default=True, description="Train on synthetic data.", json_schema_extra={"variable": "MOCK_DATA"}
    )
    data_path: Path | None = Field(
        default=None,
        description="Prefix of the preprocessed dataset, without .bin and .idx; needs mock_data False.",
        examples=["/data/bookcorpus_text_sentence"],
        json_schema_extra={"variable": "DATA_PATH"},
    )
    dataset_source: dict[str, t.Any] = Field(default={}, description="Where CVS would fetch a dataset from.")
    log_dir: Path = Field(
        description="Folder on each node that takes a folder per run and node.",
        json_schema_extra={"variable": "LOG_DIR"},
    )
    megatron_root: Path = Field(
        default="/workspace/Megatron-LM", description="The Megatron-LM checkout that the training starts in."
    )
    training_scripts: dict[str, Text] = Field(
        default={},
        description="Training scripts by a pattern that is searched in tokenizer_model; relative to megatron_root.",
        examples=[{"llama-3": "examples/llama/train_llama3.sh"}],
    )
    rocm_dir: Path | None = Field(default=None, description="Where CVS looks for ROCm.")
    scripts_dir: Path | None = Field(default=None, description="Where CVS writes its wrapper scripts.")
    verify_network_errors: Flag | None = Field(default=None, description="Whether CVS compares network counters.")
    container_config: ContainerConfig = Field(
        default_factory=ContainerConfig, description="What of the node the container sees."
    )


class MegatronModelParameters(BaseModel):
    """A branch ``model_params.<mode>.<model>.<gpu>``: what to train there."""

    model_config = ConfigDict(protected_namespaces=())

    tokenizer_model: Text = Field(
        description="Hugging Face name or path of the tokenizer.",
        examples=["NousResearch/Meta-Llama-3-8B"],
        json_schema_extra={"variable": "TOKENIZER_MODEL"},
    )
    model_size: ModelSize = Field(
        description="Size of the model.",
        examples=["8"],
        json_schema_extra={"unit": "billions of parameters", "variable": "MODEL_SIZE"},
    )
    batch_size: PositiveInteger = Field(
        description="Global batch size.", json_schema_extra={"unit": "sequences", "variable": "BS"}
    )
    micro_batch_size: PositiveInteger = Field(
        description="Micro batch size of one data-parallel rank.",
        json_schema_extra={"unit": "sequences", "variable": "MBS"},
    )
    precision: Precision = Field(
        description="Numeric precision of the matrix products.", json_schema_extra={"variable": "TE_FP8"}
    )
    sequence_length: PositiveInteger = Field(
        description="Length of a sequence.", json_schema_extra={"unit": "tokens", "variable": "SEQ_LENGTH"}
    )
    tensor_parallelism: PositiveInteger = Field(
        default=1, description="Over how many GPUs a layer is spread.", json_schema_extra={"variable": "TP"}
    )
    pipeline_parallelism: PositiveInteger = Field(
        default=1, description="In how many stages the layers stand.", json_schema_extra={"variable": "PP"}
    )
    recompute: Flag = Field(
        default=False,
        description="Recompute activations instead of keeping them.",
        json_schema_extra={"variable": "RECOMPUTE"},
    )
    fsdp: Flag = Field(
        default=False,
        description="Shard parameters with PyTorch FSDP2 instead of tensor parallelism.",
        json_schema_extra={"variable": "FSDP"},
    )
    num_layers: PositiveInteger | None = Field(
        default=None, description="Layers of a model whose size is not one that the ROCm scripts know."
    )
    num_attention_heads: PositiveInteger | None = Field(
        default=None, description="Attention heads of a model whose size is not one that the ROCm scripts know."
    )
    num_query_groups: PositiveInteger | None = Field(
        default=None, description="Key/value heads of such a model; as many as attention heads where it is not given."
    )
    result_dict: ExpectedResults = Field(default_factory=ExpectedResults, description="Thresholds of the verdict.")
