# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of the section ``config`` of a CVS training config for JAX MaxText: how to run.

CVS has had two shapes: one with a key for each variable, and a later one with objects (``env_vars``, ``xla_flags``,
``rdma_lib``). Both are read, also mixed.
"""

from __future__ import annotations

import typing as t

from pydantic import BaseModel, Field

from ...config.field_types import (
    ContainerName,
    Environment,
    Flag,
    Fraction,
    FreeObject,
    IntegerOrAuto,
    Name,
    NameList,
    NaturalInteger,
    Path,
    PositiveInteger,
    Size,
    Text,
)
from ...config.kinds import OneOf
from ...config.texts import Written
from ...job.container import ContainerConfig
from .xla_flag_sets import FLAG_SETS

FlagSet = t.Annotated[str, OneOf(tuple(FLAG_SETS))]


ClusterName = t.Annotated[
    str,
    Written(
        "[a-z]([-a-z0-9]{0,38}[a-z0-9])?",
        "a name that XPK takes",
        "a name of small letters, digits and -, a letter in front, 40 at most",
    ),
]
Priority = t.Annotated[str, OneOf(("very-low", "low", "medium", "high", "very-high"))]


class GkeConfig(BaseModel):
    """The section ``config.gke``: where XPK starts a workload, with training_platform gke."""

    cluster: ClusterName = Field(
        description="Cluster on GKE, which XPK has made.", json_schema_extra={"variable": "--cluster"}
    )
    tpu_type: Name | None = Field(
        default=None,
        description="Type of the slices of TPUs, with their size.",
        examples=["v5p-256"],
        json_schema_extra={"variable": "--tpu-type"},
    )
    num_slices: PositiveInteger = Field(
        default=1,
        description="How many slices of tpu_type take part.",
        json_schema_extra={"variable": "--num-slices", "unit": "slices"},
    )
    device_type: Name | None = Field(
        default=None,
        description="Type of the hosts, in place of tpu_type; nnodes of them take part.",
        examples=["h100-mega-80gb-8"],
        json_schema_extra={"variable": "--device-type"},
    )
    project: Name | None = Field(
        default=None,
        description="Project on Google Cloud; without it that of gcloud.",
        json_schema_extra={"variable": "--project"},
    )
    zone: Name | None = Field(
        default=None,
        description="Zone of the cluster; without it that of gcloud.",
        examples=["us-east5-a"],
        json_schema_extra={"variable": "--zone"},
    )
    priority: Priority | None = Field(
        default=None, description="Priority of the workload.", json_schema_extra={"variable": "--priority"}
    )


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
        json_schema_extra={"since": "later shape"},
    )
    xla_flags: FreeObject = Field(
        default={},
        description="Flags of XLA, each with its value.",
        examples=[{"xla_gpu_autotune_level": 4}],
        json_schema_extra={**_becomes("XLA_FLAGS"), "since": "later shape"},
    )
    gke: GkeConfig | None = Field(
        default=None, description="Where a workload on GKE runs; read with training_platform gke only."
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
        json_schema_extra={"since": "later shape"},
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
