# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of the section ``config`` that mean the same for every framework: kinds and descriptions."""

from __future__ import annotations

import typing as t

from pydantic import Field

from ...config import field_types as types
from ...config.model import key
from ...job.container import ContainerConfig

ContainerName = t.Annotated[types.ContainerName, key("Name of the container on each node.")]
ShmSize = t.Annotated[types.Size, key("Size of the container's /dev/shm.")]
ContainerSection = t.Annotated[
    ContainerConfig, key("What the container sees of the node.", default_factory=ContainerConfig)
]
DistributedTraining = t.Annotated[
    types.Flag | None, key("Chooses between multi_node (True) and single_node where the file has both.")
]
Nnodes = t.Annotated[
    types.PositiveInteger,
    key("Number of nodes; it has to match the inventory.", unit="nodes", variable="NNODES"),
]
NicType = t.Annotated[
    types.Name | None,
    key(
        "Type of the RDMA network cards. It is recorded with the run, and preflight proposes its usual GID index.",
        example="thor2",
    ),
]
RdmaDevices = t.Annotated[
    types.NameList | None, Field(examples=["bnxt_re0,bnxt_re1"], json_schema_extra={"variable": "NCCL_IB_HCA"})
]
NcclSocketIfname = t.Annotated[
    types.NameList | None,
    key(
        "Network interfaces over which the ranks of NCCL or RCCL find each other; auto takes the one with the "
        "route to rank 0.",
        example="ens51f1np1",
        variable="NCCL_SOCKET_IFNAME",
    ),
]
GlooSocketIfname = t.Annotated[
    types.NameList | None,
    key(
        "Network interfaces over which the ranks of Gloo find each other; auto takes the one with the route to rank 0.",
        example="ens51f1np1",
        variable="GLOO_SOCKET_IFNAME",
    ),
]
GidIndex = t.Annotated[
    types.IntegerOrAuto | None,
    key(
        "Entry of the RDMA devices' GID table to use; auto leaves it to NCCL, and preflight proposes one.",
        example=3,
        variable="NCCL_IB_GID_INDEX",
    ),
]
NcclDebug = t.Annotated[
    types.Name | None,
    key("Log level of NCCL or RCCL.", example="ERROR", variable="NCCL_DEBUG"),
]
TokenFile = t.Annotated[
    types.Path | None,
    key(
        "File with the Hugging Face token. The plan contains only its path, never the token.",
        example="/home/{user-id}/.hf_token",
        variable="HF_TOKEN_PATH",
    ),
]
