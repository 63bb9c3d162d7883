# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of the section ``trainops`` of an experiment of Primus: how to run, which Primus' file lacks."""

from __future__ import annotations

from ...config.field_types import ContainerName, Path
from ...config.model import key
from ...job.container import ContainerConfig
from ..run_section import HubRunSection


class RunConfig(HubRunSection):
    """The section ``trainops``: how to run."""

    primus_root: Path = key(
        "Folder of Primus with runner/primus-cli, in the container or on the node; training starts there.",
        default="/workspace/Primus",
    )
    container_name: ContainerName = key("Name of the container on each node.", default="primus_training")
    container_config: ContainerConfig = key(
        "What the container sees of the node, without device_list all GPUs and RDMA devices, and the variables that "
        "the file's ${VARIABLE} take.",
        default_factory=ContainerConfig,
    )
