# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of the section ``config`` that mean the same for every framework: their kinds and what is said of them."""

from __future__ import annotations

import typing as t

from pydantic import Field

from ..config import field_types as types
from ..job.container import ContainerConfig

ContainerName = t.Annotated[types.ContainerName, Field(description="Name of the container on each node.")]
ShmSize = t.Annotated[types.Size, Field(description="Size of the container's /dev/shm.")]
ContainerSection = t.Annotated[
    ContainerConfig, Field(default_factory=ContainerConfig, description="What of the node the container sees.")
]
DistributedTraining = t.Annotated[
    types.Flag | None, Field(description="Chooses between multi_node (True) and single_node where the file has both.")
]
Nnodes = t.Annotated[
    types.PositiveInteger,
    Field(
        description="How many nodes take part; the inventory has to agree.",
        json_schema_extra={"unit": "nodes", "variable": "NNODES"},
    ),
]
NicType = t.Annotated[
    types.Name | None,
    Field(
        description="Kind of the RDMA network cards. It is recorded with the run, and says which GID index is usual.",
        examples=["thor2"],
    ),
]
RdmaDevices = t.Annotated[
    types.NameList | None, Field(examples=["bnxt_re0,bnxt_re1"], json_schema_extra={"variable": "NCCL_IB_HCA"})
]
NcclSocketIfname = t.Annotated[
    types.NameList | None,
    Field(
        description="Network interfaces over which the ranks of NCCL or RCCL find each other; auto takes the one "
        "that leads to rank 0.",
        examples=["ens51f1np1"],
        json_schema_extra={"variable": "NCCL_SOCKET_IFNAME"},
    ),
]
GlooSocketIfname = t.Annotated[
    types.NameList | None,
    Field(
        description="Network interfaces over which the ranks of Gloo find each other; auto takes the one that leads "
        "to rank 0.",
        examples=["ens51f1np1"],
        json_schema_extra={"variable": "GLOO_SOCKET_IFNAME"},
    ),
]
GidIndex = t.Annotated[
    types.IntegerOrAuto | None,
    Field(
        description="Which entry of an RDMA device's GID table is used; with auto preflight proposes one.",
        examples=[3],
        json_schema_extra={"variable": "NCCL_IB_GID_INDEX"},
    ),
]
NcclDebug = t.Annotated[
    types.Name | None,
    Field(description="How much NCCL or RCCL logs.", examples=["ERROR"], json_schema_extra={"variable": "NCCL_DEBUG"}),
]
TokenFile = t.Annotated[
    types.Path | None,
    Field(
        description="File with the Hugging Face token. Only its path stands in a plan, never the token.",
        examples=["/home/{user-id}/.hf_token"],
        json_schema_extra={"variable": "HF_TOKEN_PATH"},
    ),
]
