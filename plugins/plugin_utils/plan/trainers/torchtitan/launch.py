# SPDX-License-Identifier: GPL-3.0-or-later
"""How torchrun starts TorchTitan on each node, for any kind of config.

TorchTitan's own run_train.sh is for one node, and its multinode_trainer.slurm leaves the ranks to torchrun's
rendezvous. A plan has the same command with static ranks, so that rank 0 is on the first node.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from .....module_utils.node.contracts import ContainerOptions
from ...job.container import check_container, container_options, variables_of_user
from ...job.environment_variables import recording
from .reading import RunReading

RUN = "trainops"
MODULE = "torchtitan.train"
# multinode_trainer.slurm of TorchTitan uses this port.
_MASTER_PORT = 29500
_ENVIRONMENT = {
    # torchrun itself writes to a file, and would keep the lines of its ranks until it has many.
    "PYTHONUNBUFFERED": "1",
    "PYTORCH_ALLOC_CONF": "expandable_segments:True",
    # Otherwise lines begin with the rank within the node.
    "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": "[rank${rank}]:",
}


class OfRun(t.TypedDict):
    """The part of a job that the table ``trainops`` decides."""

    nnodes: int
    master_port: int
    image: str | None
    environment: dict[str, str]
    recorder: dict[str, str]
    token_file: str | None
    token_variable: str
    working_dir: str
    log_dir: str
    mounts: dict[str, str]
    devices: list[str]
    container_options: ContainerOptions


def check_run(reading: RunReading[t.Any]) -> None:
    """Report errors in the table that says how to run."""
    given = reading.get(RUN)
    check_container(given.container_config, reading.findings, f"{RUN}.container_config", "; use hf_token_file")
    if reading.options.container_engine == "none":
        if given.container_image:
            reading.warn(f"{RUN}.container_image", "Without a container engine, it has no effect.", "Leave it out.")
    elif not reading.image and not reading.findings.has_fault(f"{RUN}.container_image"):
        reading.fault(f"{RUN}.container_image", "No image is set.", "Set training_image, or container_engine=none.")


def of_run(reading: RunReading[t.Any], outputs: str) -> OfRun:
    """Return the table's settings for a job whose ranks write to the folder ``outputs``."""
    run, options = reading.get(RUN), reading.options
    path = f"{RUN}.container_config.env_dict"
    users = variables_of_user(run.container_config.env_dict, _ENVIRONMENT, path, reading.findings)
    return {
        "nnodes": reading.nnodes,
        "master_port": port_of(reading),
        "image": run.container_image if options.container_engine != "none" else None,
        "environment": _ENVIRONMENT | users,
        "recorder": _recorder(users, outputs),
        "token_file": run.hf_token_file,
        "token_variable": "HF_TOKEN",
        "working_dir": reading.root or "/",
        "log_dir": run.log_dir,
        "mounts": run.container_config.volume_dict,
        "devices": run.container_config.device_list,
        "container_options": container_options(
            run.container_name, run.shm_size, options.container_profile, multi_node=reading.nnodes > 1
        ),
    }


def _recorder(users: Mapping[str, str], outputs: str) -> dict[str, str]:
    """Return the variables that make the recorder answer: TorchTitan switches it on, and decides on the files.

    See init_distributed in torchtitan/distributed/utils.py; it warns of a variable that it sets itself.
    """
    variables = recording(users, f"{outputs.rstrip('/')}/comm_traces/rank_")
    return {name: value for name, value in variables.items() if name.endswith("_FILE")}


def port_of(reading: RunReading[t.Any]) -> int:
    """Return the rendezvous port of the nodes."""
    return reading.options.training_master_port or _MASTER_PORT


def torchrun(reading: RunReading[t.Any], master: str, module: str, *, pipeline: bool) -> list[str]:
    """Return the command that starts the ranks of a node, up to the arguments of TorchTitan itself.

    ``module`` is the one that is started unless the table names another. Only the last stage of a ``pipeline`` knows
    the loss, and only the first rank says the end.
    """
    gpus, python = reading.options.training_gpus_per_node, reading.python
    shown = f"0,{gpus - 1}" if pipeline and gpus > 1 else "0"
    return [
        *([python, "-m", "torch.distributed.run"] if python else ["torchrun"]),
        *("--nnodes", str(reading.nnodes), "--node_rank", "{node-rank}", "--nproc_per_node", str(gpus)),
        *("--master_addr", master, "--master_port", str(port_of(reading))),
        *("--local-ranks-filter", shown, "--role", "rank", "--tee", "3"),
        *("-m", reading.get(RUN).module or module),
    ]
