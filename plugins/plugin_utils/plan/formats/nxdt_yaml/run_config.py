# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of the section ``trainops`` of an NxDT training config: how to run, which NxDT's config lacks."""

from __future__ import annotations

import typing as t

from ...config.field_types import ContainerName, Flag, Path, Size, Text
from ...config.fields import ConfigSection, key, optional
from ...config.kinds import OneOf
from ...job.container import ContainerConfig
from ...job.thresholds import ExpectedResults
from .devices import INSTANCES


class RunConfig(ConfigSection):
    """The section ``trainops``: how to run."""

    instance_type: t.Annotated[str, OneOf(tuple(INSTANCES), strict=True)] | None = optional(
        "Instance type of the nodes; it determines their number of devices and the size of a logical NeuronCore.",
        example="trn1.32xlarge",
    )
    nxdt_root: Path = key(
        "Folder with training_orchestrator.py; training starts there.",
        default="/home/{user-id}/neuronx-distributed-training/examples",
    )
    virtual_environment: Path | None = optional(
        "Python environment with NxDT; without it torchrun is looked up in PATH.",
        example="/home/{user-id}/aws_neuron_venv_pytorch",
        variable="PATH",
    )
    compile_first: Flag = key(
        "Compile the graphs of ten steps with neuron_parallel_compile on every node before training.",
        default=False,
        variable="COMPILE",
    )
    log_dir: Path = key(
        "Log folder on each node, with one subfolder per run and node.", default="/home/{user-id}/LOG_DIR"
    )
    master_address: Text | None = optional(
        "Address of rank 0, where the nodes meet; by default, or with auto, that of the inventory.",
        example="auto",
        variable="MASTER_ADDR, --master_addr",
    )
    container_image: Text | None = optional(
        "Container image; without it the training runs on the host, as in NxDT's guide."
    )
    container_name: ContainerName = key("Name of the container on each node.", default="nxdt_training")
    shm_size: Size = key("Size of the container's /dev/shm.", default="64G")
    container_config: ContainerConfig = key(
        "What the container sees of the node; without device_list, all Neuron devices of instance_type.",
        default_factory=ContainerConfig,
    )
    result_dict: ExpectedResults = key(
        "Thresholds of the verdict. NxDT reports neither TFLOP/s nor memory, so those are rejected.",
        default_factory=ExpectedResults,
    )
