# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of the section ``config`` of a CVS training config for JAX MaxText: how to run.

CVS has used two shapes: one with a key for each variable, and a later one with objects (``env_vars``, ``xla_flags``,
``rdma_lib``). Both are read, even mixed. Keys that only become a variable are in ``config.json``.
"""

from __future__ import annotations

import typing as t

from pydantic import Field

from ....config.field_types import Environment, Flag, FreeObject, Line, Name, Path, PositiveInteger, Text, Written
from ....config.key_tables import read_tables, with_keys
from ....config.kinds import OneOf
from ....config.model import ConfigSection, key, optional
from .. import config_fields as cvs
from .images import ROOT
from .scripts import SCRIPTS
from .xla_flag_sets import FLAG_SETS

FlagSet = t.Annotated[str, OneOf(tuple(FLAG_SETS))]
Script = t.Annotated[str, OneOf(tuple(SCRIPTS))]

MaxTextBranch = t.Annotated[
    str,
    Written(
        "([A-Za-z0-9_][A-Za-z0-9_./+-]*)?", "a branch, tag or commit", "a branch, tag or commit, or nothing", free=True
    ),
]
ClusterName = t.Annotated[
    str,
    Written(
        "[a-z]([-a-z0-9]{0,38}[a-z0-9])?",
        "a name that XPK takes",
        "a name of at most 40 lowercase letters, digits and -, starting with a letter",
    ),
]
Priority = t.Annotated[str, OneOf(("very-low", "low", "medium", "high", "very-high"))]


class GkeConfig(ConfigSection):
    """The section ``config.gke``: where XPK starts a workload, with training_platform gke."""

    cluster: ClusterName = key("GKE cluster that XPK created.", variable="--cluster")
    tpu_type: Name | None = optional("Type and size of the TPU slices.", example="v5p-256", variable="--tpu-type")
    num_slices: PositiveInteger = key(
        "Number of slices of tpu_type.", default=1, unit="slices", variable="--num-slices"
    )
    device_type: Name | None = optional(
        "Type of the hosts, in place of tpu_type; nnodes sets their number.",
        example="h100-mega-80gb-8",
        variable="--device-type",
    )
    project: Name | None = optional("Google Cloud project; by default gcloud's own.", variable="--project")
    zone: Name | None = optional(
        "Zone of the cluster; by default gcloud's own.", example="us-east5-a", variable="--zone"
    )
    priority: Priority | None = optional("Priority of the workload.", variable="--priority")


@with_keys(read_tables(__file__)["config"])
class MaxTextConfig(ConfigSection):
    """The section ``config``: how to run."""

    container_image: Text | None = optional(
        "Container image; required unless container_engine is none. Its tag determines where MaxText is.",
        example="rocm/jax-training:maxtext-v25.5",
    )
    container_name: cvs.ContainerName = "maxtext_training"
    shm_size: cvs.ShmSize = "256G"
    container_config: cvs.ContainerSection
    distributed_training: cvs.DistributedTraining = None
    nnodes: cvs.Nnodes = Field(examples=[2])
    coordinator_ip: Text | None = optional(
        "Address of rank 0, where the nodes of a multi-node run meet; auto takes the inventory's.",
        example="auto",
        variable="JAX_COORDINATOR_IP",
    )
    training_steps: PositiveInteger = key(
        "How many steps to train; MaxText numbers them from 0.",
        example=20,
        unit="steps",
        variable="steps",
        unless="maxtext_script",
    )
    enable_checkpointing: Flag = key("Write checkpoints.", default=False, variable="enable_checkpointing")
    nic_type: cvs.NicType = None
    nccl_ib_hca: cvs.RdmaDevices = optional("RDMA devices over which the nodes exchange gradients.")
    nccl_ib_hca_list: cvs.RdmaDevices = optional("The same as nccl_ib_hca, which takes precedence.")
    nccl_socket_ifname: cvs.NcclSocketIfname = None
    gloo_socket_ifname: cvs.GlooSocketIfname = None
    nccl_ib_gid_index: cvs.GidIndex = None
    nccl_debug: cvs.NcclDebug = None
    env_vars: Environment = key(
        "Additional environment variables of the training; those that the plan sets win. No secrets.",
        default={},
        example={"NCCL_PROTO": "Simple"},
        since="later shape",
    )
    xla_flags: FreeObject = key(
        "XLA flags, each with its value.",
        default={},
        example={"xla_gpu_autotune_level": 4},
        variable="XLA_FLAGS",
        since="later shape",
    )
    gke: GkeConfig | None = optional("Where a workload on GKE runs; used only with training_platform gke.")
    xla_flag_set: FlagSet | None = optional(
        "Flags of one of MaxText's high-performance scripts, by its path below src/maxtext/configs. Flags in "
        "xla_flags take precedence.",
        example="gpu/a3/llama_2_7b/2vm",
        variable="XLA_FLAGS or LIBTPU_INIT_ARGS",
    )
    maxtext_script: Script | None = optional(
        "One of MaxText's high-performance scripts, by its path below src/maxtext/configs: its steps, keys and flags "
        "count where this file sets none.",
        example="tpu/v5p/128b",
        variable="the keys and flags of that script",
    )
    maxtext_branch: MaxTextBranch = key(
        "Branch, tag or commit of MaxText that each node checks out in its container before the training.",
        default="",
        example="release/v26.7",
        since="later shape",
    )
    maxtext_root: Path = key("MaxText's checkout in the container.", default=ROOT, since="later shape")
    maxtext_install_cmd: Line = key(
        "Shell command that is run in maxtext_root before the training, for example to install the branch.",
        default="",
        example="python3 -m pip install --no-deps -e .",
        since="later shape",
    )
    hf_token_file: cvs.TokenFile = None
    data_cache_dir: Path = key(
        "Cache for downloads from the Hugging Face hub.", default="/home/{user-id}/cache", variable="HF_HOME"
    )
    log_dir: Path = key("Log folder on each node, with one subfolder per run and node.", example="/home/{user-id}/LOGS")
