# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of the section ``trainops`` of an NxDT training config: how to run, which NxDT's config lacks."""

from __future__ import annotations

import typing as t

from ...config.field_types import ContainerName, Flag, Path
from ...config.kinds import OneOf
from ...config.model import key, optional
from ...job.container import ContainerConfig
from ...job.thresholds import ExpectedResults
from ..run_section import RunSection
from .devices import INSTANCES


class RunConfig(RunSection):
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
    container_name: ContainerName = key("Name of the container on each node.", default="nxdt_training")
    container_config: ContainerConfig = key(
        "What the container sees of the node; without device_list, all Neuron devices of instance_type.",
        default_factory=ContainerConfig,
    )
    result_dict: ExpectedResults = key(
        "Thresholds of the verdict. NxDT reports neither TFLOP/s nor memory, so those are rejected.",
        default_factory=ExpectedResults,
    )
