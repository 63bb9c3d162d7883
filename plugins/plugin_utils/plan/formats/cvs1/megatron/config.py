# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of a CVS training config for Megatron-LM: every key, its meaning and its variable."""

from __future__ import annotations

import re
import typing as t

from pydantic import AfterValidator, Field

from ....config.field_types import Flag, Path, PositiveInteger, Text, Written, few, pattern
from ....config.key_tables import read_tables, with_keys
from ....config.kinds import OneOf, Words
from ....config.model import ConfigSection, key, optional
from ....job.thresholds import ExpectedResults
from .. import config_fields as cvs
from .dataset import DatasetSource
from .script_options import ScriptOptions

PRECISIONS = {"TE_FP8": "fp8", "TE_BF16": "bf16", "TE_FP16": "fp16", "TE_F16": "fp16", "TE_FP4": "fp4"}


def _without_b(value: str) -> str:
    return re.sub(r"^([0-9]+)[bB]$", r"\1", value)


Precision = t.Annotated[str, OneOf(tuple(PRECISIONS))]
ModelSize = t.Annotated[
    str,
    Written("[A-Za-z0-9][A-Za-z0-9_.]*", "a size", "a model size that the training script knows"),
    AfterValidator(_without_b),
]
Scripts = t.Annotated[
    dict[t.Annotated[str, AfterValidator(pattern)], Text],
    AfterValidator(few),
    Words("an object that maps regular expressions to scripts"),
]


@with_keys(read_tables(__file__)["config"])
class MegatronConfig(ConfigSection):
    """The section ``config``: how to run."""

    container_image: Text | None = optional(
        "Container image; required unless container_engine is none.", example="rocm/megatron-lm:v25.5_py310"
    )
    container_name: cvs.ContainerName = "megatron_training"
    shm_size: cvs.ShmSize = "128G"
    container_config: cvs.ContainerSection
    distributed_training: cvs.DistributedTraining = None
    nnodes: cvs.Nnodes = Field(examples=[4])
    master_address: Text | None = optional(
        "Address of rank 0, where the nodes of a multi-node run meet; auto takes the inventory's.",
        example="auto",
        variable="MASTER_ADDR",
    )
    training_iterations: PositiveInteger = key(
        "How many steps to train.", example=30, unit="steps", variable="TOTAL_ITERS"
    )
    nic_type: cvs.NicType = None
    nccl_ib_hca_list: cvs.RdmaDevices = optional("RDMA devices over which the nodes exchange gradients.")
    nccl_ib_hca: cvs.RdmaDevices = optional("The same as nccl_ib_hca_list, which takes precedence.")
    nccl_socket_ifname: cvs.NcclSocketIfname = None
    gloo_socket_ifname: cvs.GlooSocketIfname = None
    nccl_ib_gid_index: cvs.GidIndex = None
    nccl_debug: cvs.NcclDebug = None
    hf_token_file: cvs.TokenFile = None
    mock_data: Flag = key(
        "Train on synthetic data instead of the dataset of data_path or dataset_source.",
        default=True,
        variable="MOCK_DATA",
    )
    data_path: Path | None = optional(
        "Prefix of the preprocessed dataset, without .bin and .idx; needs mock_data False.",
        example="/data/bookcorpus_text_sentence",
        variable="DATA_PATH",
    )
    data_cache_dir: Path = key(
        "Cache for the dataset index; all nodes of a multi-node run must share it.",
        default="/home/{user-id}/cache",
        variable="DATA_CACHE_PATH",
    )
    log_dir: Path = key(
        "Log folder on each node, with one subfolder per run and node.",
        example="/home/{user-id}/LOG_DIR",
        variable="LOG_DIR",
    )
    megatron_root: Path = key(
        "Megatron-LM checkout in the container, where training starts.", default="/workspace/Megatron-LM"
    )
    training_scripts: Scripts = key(
        "Training scripts, relative to megatron_root. The first whose regular expression matches tokenizer_model "
        "is used; if none does, the model's name decides.",
        default={},
        example={"llama-3": "examples/llama/train_llama3.sh"},
    )
    dataset_source: DatasetSource = key(
        "A dataset to fetch before the training, once where nodes share it.", default_factory=DatasetSource
    )


class MegatronModelParameters(ScriptOptions):
    """A branch ``model_params.<mode>.<model>.<gpu>``: what to train there."""

    tokenizer_model: Text = key(
        "Tokenizer: name on the Hugging Face hub, or absolute path.",
        example="NousResearch/Meta-Llama-3-8B",
        variable="TOKENIZER_MODEL",
    )
    model_size: ModelSize = key(
        "Model size, in the training script's spelling.",
        example="8",
        unit="billions of parameters",
        variable="MODEL_SIZE",
    )
    batch_size: PositiveInteger = key(
        "Global batch size: sequences per step over all ranks.", example=128, unit="sequences", variable="BS"
    )
    micro_batch_size: PositiveInteger = key(
        "Sequences that one data-parallel rank processes at a time.", example=2, unit="sequences", variable="MBS"
    )
    sequence_length: PositiveInteger = key("Length of a sequence.", example=8192, unit="tokens", variable="SEQ_LENGTH")
    precision: Precision = key(
        "Number format of the matrix multiplications. The Llama scripts support FP8 and BF16, and FP4 from v26.1 "
        "on (Llama 3); FP16 trains in BF16, with a warning. DeepSeek's script supports FP8 and BF16.",
        example="TE_FP8",
        variable="TE_FP8",
    )
    tensor_parallelism: PositiveInteger = key(
        "Number of GPUs that share each layer.", default=1, unit="GPUs", variable="TP"
    )
    pipeline_parallelism: PositiveInteger = key(
        "Number of pipeline stages that the layers are divided into.", default=1, unit="stages", variable="PP"
    )
    recompute: Flag = key(
        "Recompute all activations instead of keeping them in memory.", default=False, variable="RECOMPUTE"
    )
    fsdp: Flag = key(
        "Shard the parameters with PyTorch's FSDP2. Works with neither tensor nor pipeline parallelism.",
        default=False,
        variable="FSDP",
    )
    num_layers: PositiveInteger | None = optional(
        "Number of layers, for a model_size that only your own checkout knows (training_megatron_root)."
    )
    num_attention_heads: PositiveInteger | None = optional("Number of attention heads of such a model.")
    num_query_groups: PositiveInteger | None = optional(
        "Number of key/value heads of such a model; by default as many as attention heads."
    )
    result_dict: ExpectedResults = key("Thresholds of the verdict.", default_factory=ExpectedResults)
