# SPDX-License-Identifier: GPL-3.0-or-later
"""A CVS config's instructions on how to run, as the section ``trainops`` of another format."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ....text.words import counted
from ...config.findings import Findings
from ...config.kinds import AUTO
from ...job.container import variables_of_user
from ...job.sizes import scales_batch
from .reading import CvsReading

RUN = "trainops"
MULTI_NODE_KEYS = (
    "master_address",
    "nccl_ib_hca_list",
    "nccl_ib_hca",
    "nccl_socket_ifname",
    "gloo_socket_ifname",
    "nccl_ib_gid_index",
)
WITHOUT_EFFECT = {
    "rocm_dir": "ROCm is taken from the image.",
    "scripts_dir": "The launch script is in the run's folder below log_dir.",
    "verify_network_errors": "Network counters are not compared.",
    "hca_id_pattern": "nccl_ib_hca_list selects the RDMA devices.",
}
_KEYS = ("log_dir", "master_address", "hf_token_file", "container_image", "container_name", "shm_size")
_OF_NCCL = {
    "NCCL_IB_HCA": "nccl_ib_hca_list",
    "NCCL_SOCKET_IFNAME": "nccl_socket_ifname",
    "GLOO_SOCKET_IFNAME": "gloo_socket_ifname",
    "NCCL_IB_GID_INDEX": "nccl_ib_gid_index",
    "NCCL_DEBUG": "nccl_debug",
}
PLACES = {
    **{f"{RUN}.{name}": f"config.{name}" for name in (*_KEYS, "container_config")},
    **{f"{RUN}.container_config.env_dict.{variable}": f"config.{name}" for variable, name in _OF_NCCL.items()},
}


def run_table(reading: CvsReading[t.Any, t.Any], variables: Mapping[str, str]) -> dict[str, t.Any]:
    """Return the section, with the variables for every node, and NCCL's variables that have their own config keys."""
    config = reading.config
    container = config.container_config
    own = {**variables, **_of_nccl(reading)}
    users = variables_of_user(container.env_dict or {}, own, "config.container_config.env_dict", reading.findings)
    table = {name: getattr(config, name) for name in _KEYS if name != "master_address" or reading.multi_node}
    return without_none(
        {**table, "container_config": without_none({**container.model_dump(), "env_dict": own | users})}
    )


def check_node_count(reading: CvsReading[t.Any, t.Any], node_count: int, findings: Findings) -> None:
    """Report a number of nodes that differs from the run's, if there are nodes."""
    nodes = reading.config.nnodes
    if (
        nodes
        and node_count
        and nodes != node_count
        and not scales_batch(reading.options.training_scale_batch, reading.mode)
    ):
        findings.fault(
            "config.nnodes",
            nodes,
            f"nnodes is {nodes}, but the run has {counted(node_count, 'inventory host')}.",
            f"Set nnodes to {node_count}, or choose other hosts with training_hosts or training_exclude.",
        )


def without_none(values: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the entries that have a value."""
    return {name: value for name, value in values.items() if value is not None}


def _of_nccl(reading: CvsReading[t.Any, t.Any]) -> dict[str, str]:
    config = reading.config
    given = {variable: getattr(config, name) for variable, name in _OF_NCCL.items()}
    given["NCCL_IB_HCA"] = given["NCCL_IB_HCA"] or config.nccl_ib_hca
    if given["NCCL_IB_GID_INDEX"] == AUTO:
        del given["NCCL_IB_GID_INDEX"]
    if not reading.multi_node:
        given = {"NCCL_DEBUG": config.nccl_debug}
    texts = {name: ",".join(value) if isinstance(value, list) else value for name, value in given.items()}
    return {name: str(value) for name, value in texts.items() if value is not None}
