# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of the table ``trainops`` of a TorchTitan config: how to run, which TorchTitan's config lacks."""

from __future__ import annotations

from ...config.field_types import ContainerName, Name, Path, Size, Text
from ...config.model import key, optional
from ..run_section import HubRunSection


class RunConfig(HubRunSection):
    """The table ``trainops``: how to run."""

    gpu: Text | None = optional(
        "GPU of the nodes, whose peak the utilization is measured by; overridden by training_gpu.", example="MI300X"
    )
    torchtitan_root: Path | None = optional(
        "Folder to start in: relative paths of the config, such as the tokenizer's, begin there.",
        example="/workspace/torchtitan",
    )
    python: Path | None = optional(
        "Python that has TorchTitan; without it torchrun is looked up in PATH.", example="/opt/venv/bin/python"
    )
    module: Text | None = optional(
        "Module that is started, by default torchtitan.train; up to 0.2 it is torchtitan.models.flux.train for flux, "
        "and torchtitan.experiments.ft.train with fault_tolerance.enable.",
        example="torchtitan.experiments.compiler_toolkit.train",
    )
    tokenizer: Text | None = optional(
        "Hugging Face repository of the tokenizer, which is fetched before the training by TorchTitan's "
        "scripts/download_hf_assets.py, if the folder model.hf_assets_path is not there.",
        example="meta-llama/Llama-3.1-8B",
    )
    nic_type: Name | None = optional(
        "Type of the RDMA network cards; recorded with the run, and compared with the devices.", example="thor2"
    )
    container_name: ContainerName = key("Name of the container on each node.", default="torchtitan_training")
    shm_size: Size = key("Size of the container's /dev/shm.", default="128G")
