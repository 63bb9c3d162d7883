# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of the section ``trainops`` of an experiment of Primus: how to run, which Primus' file lacks."""

from __future__ import annotations

from ...config.field_types import ContainerName, Path, Size, Text
from ...config.fields import ConfigSection, key, optional
from ...job.container import ContainerConfig
from ...job.thresholds import ExpectedResults


class RunConfig(ConfigSection):
    """The section ``trainops``: how to run."""

    primus_root: Path = key(
        "Folder of Primus with runner/primus-cli, in the container or on the node; training starts there.",
        default="/workspace/Primus",
    )
    log_dir: Path = key(
        "Log folder on each node, with one subfolder per run and node.", default="/home/{user-id}/LOG_DIR"
    )
    master_address: Text | None = optional(
        "Address of rank 0, where the nodes meet; by default, or with auto, that of the inventory.",
        example="auto",
        variable="MASTER_ADDR",
    )
    hf_token_file: Path | None = optional(
        "File with the Hugging Face token, which gated tokenizers need. The plan holds only its path, never the token.",
        example="/home/{user-id}/.hf_token",
        variable="HF_TOKEN",
    )
    container_image: Text | None = optional(
        "Container image; without it, and without training_image, the training runs on the host.",
        example="rocm/primus:v26.5",
    )
    container_name: ContainerName = key("Name of the container on each node.", default="primus_training")
    shm_size: Size = key("Size of the container's /dev/shm.", default="64G")
    container_config: ContainerConfig = key(
        "What the container sees of the node, without device_list all GPUs and RDMA devices, and the variables that "
        "the file's ${VARIABLE} take.",
        default_factory=ContainerConfig,
    )
    result_dict: ExpectedResults = key("Thresholds of the verdict.", default_factory=ExpectedResults)
