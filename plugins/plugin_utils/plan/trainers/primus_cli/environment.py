# SPDX-License-Identifier: GPL-3.0-or-later
"""What primus-cli is started with, and which variables it adds by itself.

Source: runner/primus-cli-direct.sh and runner/helpers/envs/base_env.sh of AMD-AGI/Primus, August 2026.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....text.words import listed
from ...config.findings import Findings

# primus-cli uses this port unless MASTER_PORT is set.
MASTER_PORT = 1234
# base_env.sh's defaults for variables that are not set.
_DEFAULTS = {
    "NCCL_CHECKS_DISABLE": "1",
    "NCCL_IB_GID_INDEX": "3",
    "NCCL_CROSS_NIC": "0",
    "NCCL_PXN_DISABLE": "1",
    "NCCL_P2P_NET_CHUNKSIZE": "524288",
    "RCCL_MSCCL_ENABLE": "0",
    "RCCL_MSCCLPP_ENABLE": "0",
    "TORCH_NCCL_HIGH_PRIORITY": "1",
    "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK": "0",
    "HSA_ENABLE_SDMA": "1",
    "HSA_NO_SCRATCH_RECLAIM": "1",
    "GPU_MAX_HW_QUEUES": "2",
    "CUDA_DEVICE_MAX_CONNECTIONS": "1",
    "ENABLE_NUMA_BINDING": "0",
    "NVTE_USE_CAST_TRANSPOSE_TRITON": "1",
    "NVTE_USE_OPTIMIZED_HIPIFIED_CAST_TRANSPOSE": "0",
    "NVTE_CK_USES_BWD_V3": "1",
    "PRIMUS_TURBO_ATTN_V3_ATOMIC_FP32": "0",
    "PRIMUS_TURBO_DEEPEP_TIMEOUT": "600",
}
# What it looks up on the node where they are not set.
_FOUND = ("NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")


def environment_of(master: str, port: int, nnodes: int, gpus: int) -> dict[str, str]:
    """Return the variables that tell primus-cli the nodes of a job."""
    return {
        "MASTER_ADDR": master,
        "MASTER_PORT": str(port),
        "NNODES": str(nnodes),
        "NODE_RANK": "{node-rank}",
        "GPUS_PER_NODE": str(gpus),
    }


def note_added(given: Mapping[str, str], gpus: int, findings: Findings) -> None:
    """Note which variables primus-cli adds to those that are given."""
    added = [f"{name}={value}" for name, value in _DEFAULTS.items() if name not in given]
    devices = ",".join(map(str, range(gpus)))
    findings.note(
        f"primus-cli adds variables of its own, in Primus 26.5: {listed(added)}; and whatever is set, "
        f"HIP_VISIBLE_DEVICES={devices} and NVTE_ROCM_ENABLE_MXFP8=1."
    )
    if found := [name for name in _FOUND if name not in given]:
        findings.note(
            f"primus-cli chooses {listed(found)} on each node by itself; trainops.container_config.env_dict overrides "
            "that."
        )
