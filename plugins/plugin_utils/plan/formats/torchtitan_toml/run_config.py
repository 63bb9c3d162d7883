# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of the table ``trainops`` of a TorchTitan config: how to run, which TorchTitan's config lacks."""

from __future__ import annotations

from ...config.field_types import ContainerName, Line, Name, Path, Size, Text
from ...config.fields import ConfigSection, key, optional
from ...job.container import ContainerConfig
from ...job.thresholds import ExpectedResults


class RunConfig(ConfigSection):
    """The table ``trainops``: how to run."""

    gpu: Text | None = optional(
        "GPU of the nodes, whose peak the utilization is measured by; overridden by training_gpu.", example="MI300X"
    )
    torchtitan_root: Path | None = optional(
        "Folder to start in: relative paths of the config, such as that of the tokenizer, begin there.",
        example="/workspace/torchtitan",
    )
    python: Path | None = optional(
        "Python that has TorchTitan; without it torchrun is looked up in PATH.", example="/opt/venv/bin/python"
    )
    module: Text | None = optional(
        "Module that is started, by default torchtitan.train; for flux, up to 0.2, torchtitan.models.flux.train.",
        example="torchtitan.experiments.compiler_toolkit.train",
    )
    log_dir: Path = key(
        "Log folder on each node, with one subfolder per run and node.", default="/home/{user-id}/LOG_DIR"
    )
    master_address: Text | None = optional(
        "Address of rank 0, where the nodes meet; by default, or with auto, that of the inventory.",
        example="auto",
        variable="--master_addr",
    )
    hf_token_file: Line | None = optional(
        "File on each node with a Hugging Face token, if the tokenizer or the dataset needs one.",
        example="/home/{user-id}/.hf_token",
        variable="HF_TOKEN",
    )
    tokenizer: Text | None = optional(
        "Name on the Hugging Face hub of what the tokenizer is fetched from before the training, by TorchTitan's "
        "scripts/download_hf_assets.py, if the folder model.hf_assets_path is not there.",
        example="meta-llama/Llama-3.1-8B",
    )
    nic_type: Name | None = optional(
        "Type of the RDMA network cards; recorded with the run, and compared with the devices.", example="thor2"
    )
    container_image: Text | None = optional(
        "Container image; without it, and without training_image, the training runs on the hosts."
    )
    container_name: ContainerName = key("Name of the container on each node.", default="torchtitan_training")
    shm_size: Size = key("Size of the container's /dev/shm.", default="128G")
    container_config: ContainerConfig = key(
        "What the container sees of the node, and the environment of the training.", default_factory=ContainerConfig
    )
    result_dict: ExpectedResults = key("Thresholds of the verdict.", default_factory=ExpectedResults)
