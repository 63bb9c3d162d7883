# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of a CVS training config for Megatron-LM: every key, what it means, what it becomes."""

from __future__ import annotations

import re
import typing as t

from pydantic import AfterValidator, Field

from ...config.field_types import Flag, Path, PositiveInteger, Text
from ...config.fields import ConfigSection
from ...config.key_tables import read_tables, with_keys
from ...config.kinds import OneOf, Words
from ...config.patterns import few, pattern
from ...config.texts import Written
from ...cvs import config_fields as cvs
from ...job.thresholds import ExpectedResults
from .dataset import DatasetSource
from .script_options import ScriptOptions

PRECISIONS = {"TE_FP8": "fp8", "TE_BF16": "bf16", "TE_FP16": "fp16", "TE_F16": "fp16", "TE_FP4": "fp4"}


def _without_b(value: str) -> str:
    return re.sub(r"^([0-9]+)[bB]$", r"\1", value)


Precision = t.Annotated[str, OneOf(tuple(PRECISIONS))]
ModelSize = t.Annotated[
    str,
    Written("[A-Za-z0-9][A-Za-z0-9_.]*", "a size", "a size that the training script knows"),
    AfterValidator(_without_b),
]
Scripts = t.Annotated[
    dict[t.Annotated[str, AfterValidator(pattern)], Text],
    AfterValidator(few),
    Words("an object of scripts by regular expressions"),
]


@with_keys(read_tables(__file__)["config"])
class MegatronConfig(ConfigSection):
    """The section ``config``: how to run."""

    container_image: Text | None = Field(
        default=None,
        description="Image of the container; needed unless container_engine is none.",
        examples=["rocm/megatron-lm:v25.5_py310"],
    )
    container_name: cvs.ContainerName = "megatron_training"
    shm_size: cvs.ShmSize = "128G"
    container_config: cvs.ContainerSection
    distributed_training: cvs.DistributedTraining = None
    nnodes: cvs.Nnodes = Field(examples=[4])
    master_address: Text | None = Field(
        default=None,
        description="Address of rank 0, where the nodes of a multi-node run meet; auto takes the inventory's.",
        examples=["auto"],
        json_schema_extra={"variable": "MASTER_ADDR"},
    )
    training_iterations: PositiveInteger = Field(
        description="How many steps to train.",
        examples=[30],
        json_schema_extra={"unit": "steps", "variable": "TOTAL_ITERS"},
    )
    nic_type: cvs.NicType = None
    nccl_ib_hca_list: cvs.RdmaDevices = Field(
        default=None, description="RDMA devices over which the nodes exchange gradients."
    )
    nccl_ib_hca: cvs.RdmaDevices = Field(default=None, description="The same as nccl_ib_hca_list, which goes first.")
    nccl_socket_ifname: cvs.NcclSocketIfname = None
    gloo_socket_ifname: cvs.GlooSocketIfname = None
    nccl_ib_gid_index: cvs.GidIndex = None
    nccl_debug: cvs.NcclDebug = None
    hf_token_file: cvs.TokenFile = None
    mock_data: Flag = Field(
        default=True,
        description="Train on synthetic data instead of the dataset of data_path or dataset_source.",
        json_schema_extra={"variable": "MOCK_DATA"},
    )
    data_path: Path | None = Field(
        default=None,
        description="Prefix of the preprocessed dataset, without .bin and .idx; needs mock_data False.",
        examples=["/data/bookcorpus_text_sentence"],
        json_schema_extra={"variable": "DATA_PATH"},
    )
    data_cache_dir: Path = Field(
        default="/home/{user-id}/cache",
        description="Cache of the dataset's index; all nodes of a multi-node run have to share it.",
        json_schema_extra={"variable": "DATA_CACHE_PATH"},
    )
    log_dir: Path = Field(
        description="Folder on each node that takes a folder per run and node.",
        examples=["/home/{user-id}/LOG_DIR"],
        json_schema_extra={"variable": "LOG_DIR"},
    )
    megatron_root: Path = Field(
        default="/workspace/Megatron-LM", description="Megatron-LM checkout in the container, where training starts."
    )
    training_scripts: Scripts = Field(
        default={},
        description="Training scripts, relative to megatron_root: the first one counts whose regular expression is "
        "found in tokenizer_model. Without one the model's name decides.",
        examples=[{"llama-3": "examples/llama/train_llama3.sh"}],
    )
    dataset_source: DatasetSource = Field(
        default_factory=DatasetSource, description="A dataset to fetch before the training, once where nodes share it."
    )


class MegatronModelParameters(ScriptOptions):
    """A branch ``model_params.<mode>.<model>.<gpu>``: what to train there."""

    tokenizer_model: Text = Field(
        description="Tokenizer: name on the Hugging Face hub, or absolute path.",
        examples=["NousResearch/Meta-Llama-3-8B"],
        json_schema_extra={"variable": "TOKENIZER_MODEL"},
    )
    model_size: ModelSize = Field(
        description="Size of the model, as the training script knows it.",
        examples=["8"],
        json_schema_extra={"unit": "billions of parameters", "variable": "MODEL_SIZE"},
    )
    batch_size: PositiveInteger = Field(
        description="Global batch size: all sequences of one step.",
        examples=[128],
        json_schema_extra={"unit": "sequences", "variable": "BS"},
    )
    micro_batch_size: PositiveInteger = Field(
        description="Sequences that one data-parallel rank takes at once.",
        examples=[2],
        json_schema_extra={"unit": "sequences", "variable": "MBS"},
    )
    sequence_length: PositiveInteger = Field(
        description="Length of a sequence.",
        examples=[8192],
        json_schema_extra={"unit": "tokens", "variable": "SEQ_LENGTH"},
    )
    precision: Precision = Field(
        description="Number format of the matrix products. The Llama scripts know FP8 and BF16, and FP4 from v26.1 on "
        "(Llama 3); FP16 trains in BF16, with a warning. DeepSeek's script trains in FP8 and BF16.",
        examples=["TE_FP8"],
        json_schema_extra={"variable": "TE_FP8"},
    )
    tensor_parallelism: PositiveInteger = Field(
        default=1, description="How many GPUs share each layer.", json_schema_extra={"unit": "GPUs", "variable": "TP"}
    )
    pipeline_parallelism: PositiveInteger = Field(
        default=1,
        description="How many groups of GPUs share the layers, one after the other.",
        json_schema_extra={"unit": "stages", "variable": "PP"},
    )
    recompute: Flag = Field(
        default=False,
        description="Recompute all activations instead of keeping them in memory.",
        json_schema_extra={"variable": "RECOMPUTE"},
    )
    fsdp: Flag = Field(
        default=False,
        description="Shard the parameters with PyTorch's FSDP2. It goes with neither tensor nor pipeline parallelism.",
        json_schema_extra={"variable": "FSDP"},
    )
    num_layers: PositiveInteger | None = Field(
        default=None, description="Layers, for a model_size that only your own checkout knows (training_megatron_root)."
    )
    num_attention_heads: PositiveInteger | None = Field(default=None, description="Attention heads of such a model.")
    num_query_groups: PositiveInteger | None = Field(
        default=None, description="Key/value heads of such a model; without it as many as attention heads."
    )
    result_dict: ExpectedResults = Field(default_factory=ExpectedResults, description="Thresholds of the verdict.")
