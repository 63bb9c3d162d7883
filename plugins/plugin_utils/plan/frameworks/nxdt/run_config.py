# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of the section ``trainops`` of an NxDT training config: how to run, which NxDT does not ask for."""

from __future__ import annotations

import typing as t

from pydantic import Field

from ...config.field_types import ContainerName, Flag, Path, Size, Text
from ...config.fields import ConfigSection
from ...config.kinds import OneOf
from ...job.container import ContainerConfig
from ...job.thresholds import ExpectedResults
from .devices import INSTANCES


class RunConfig(ConfigSection):
    """The section ``trainops``: how to run."""

    instance_type: t.Annotated[str, OneOf(tuple(INSTANCES), strict=True)] | None = Field(
        default=None,
        description="Type of the nodes, which says how many devices they have and what a logical NeuronCore is.",
        examples=["trn1.32xlarge"],
    )
    nxdt_root: Path = Field(
        default="/home/{user-id}/neuronx-distributed-training/examples",
        description="Folder with training_orchestrator.py, where training starts.",
    )
    virtual_environment: Path | None = Field(
        default=None,
        description="Python environment that has NxDT; without it torchrun is looked for in PATH.",
        examples=["/home/{user-id}/aws_neuron_venv_pytorch"],
        json_schema_extra={"variable": "PATH"},
    )
    compile_first: Flag = Field(
        default=False,
        description="Let neuron_parallel_compile compile the graphs of ten steps before training, on every node.",
        json_schema_extra={"variable": "COMPILE"},
    )
    log_dir: Path = Field(
        default="/home/{user-id}/LOG_DIR", description="Folder on each node that takes a folder per run and node."
    )
    master_address: Text | None = Field(
        default=None,
        description="Address of rank 0, where the nodes meet; without it, or with auto, that of the inventory.",
        examples=["auto"],
        json_schema_extra={"variable": "MASTER_ADDR, --master_addr"},
    )
    container_image: Text | None = Field(
        default=None,
        description="Image of the container; without it the training runs on the host, as in NxDT's guide.",
    )
    container_name: ContainerName = Field(default="nxdt_training", description="Name of the container on each node.")
    shm_size: Size = Field(default="64G", description="Size of the container's /dev/shm.")
    container_config: ContainerConfig = Field(
        default_factory=ContainerConfig,
        description="What of the node the container sees; without device_list all Neuron devices of instance_type.",
    )
    result_dict: ExpectedResults = Field(
        default_factory=ExpectedResults,
        description="Thresholds of the verdict. NxDT reports neither TFLOP/s nor memory, so those are refused.",
    )
