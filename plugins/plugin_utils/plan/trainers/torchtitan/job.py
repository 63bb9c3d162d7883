# SPDX-License-Identifier: GPL-3.0-or-later
"""TorchTitan: from its TOML file to what each node runs.

TorchTitan's own run_train.sh is for one node, and its multinode_trainer.slurm leaves the ranks to torchrun's
rendezvous. A plan holds the same command with static ranks, so that rank 0 is on the first node.
Source: run_train.sh and torchtitan/config/manager.py of pytorch/torchtitan 0.2.2.
"""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from ....contracts import Bound, Parameters
from ...config.findings import Findings
from ...config.model import typed
from ...config.staged_secrets import check_secrets
from ...config.toml_config import TomlConfig, written
from ...formats.torchtitan_toml.config import TorchTitanConfig
from ...job.branch import Branch, check_name
from ...job.container import CONTAINER_KEYS, container_options, variables_of_user
from ...job.job import Job
from ...job.memory import Keeping
from ...job.ranks import Node
from ...job.recomputation import ALL, INPUT, SELECTIVE
from ...job.sizes import Sizes
from ...job.thresholds import ExpectedResults, expected_in
from .architecture import architecture_of
from .checks import check_config
from .options import TorchTitanOptions
from .precision import precision_of
from .reading import TorchTitanReading
from .sizes import check_sizes, sizes_of

# multinode_trainer.slurm of TorchTitan uses this port.
_MASTER_PORT = 29500
_FILE = "torchtitan.toml"
_RUN = "trainops"
# By activation_checkpoint.mode.
_KEPT = {"none": ALL, "selective": SELECTIVE, "memory_budget": SELECTIVE, "full": INPUT}
_ENVIRONMENT = {
    # torchrun itself writes to a file, and would keep the lines of its ranks until it has many.
    "PYTHONUNBUFFERED": "1",
    "PYTORCH_ALLOC_CONF": "expandable_segments:True",
    # Otherwise lines begin with the rank within the node.
    "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": "[rank${rank}]:",
}


def engine_for(config: TomlConfig, options: TorchTitanOptions, findings: Findings) -> str:
    """Return ``none`` if neither an engine nor an image is set."""
    run = config.values.get(_RUN)
    named = options.training_image or (isinstance(run, dict) and run.get("container_image") is not None)
    if options.container_engine != "auto" or named:
        return options.container_engine
    findings.note("No image is set (training_image), so the training runs directly on the hosts.")
    return "none"


def plan_job(config: TomlConfig, options: TorchTitanOptions, nodes: Sequence[Node], findings: Findings) -> Job | None:
    """Return the job to run, or None if there is any fault. ``nodes`` are in rank order."""
    mode = "multi_node" if options.training_mode == "auto" else options.training_mode
    reading = TorchTitanReading(_typed(config.values, options, findings), mode, nodes, options, findings)
    sizes = sizes_of(reading)
    check_secrets(config.values, "", findings)
    check_config(reading)
    check_sizes(sizes, reading)
    if reading.get("model.name") and reading.get("model.flavor"):
        check_name(_model(reading), "model.flavor", findings)
    master = reading.master_address(f"{_RUN}.master_address")
    expected = expected_in(reading, f"{_RUN}.result_dict")
    return None if findings.faults else _job(reading, config, master, sizes, expected)


def _typed(values: dict[str, t.Any], options: TorchTitanOptions, findings: Findings) -> TorchTitanConfig:
    unused = {*(CONTAINER_KEYS if options.container_engine == "none" else ())}
    if options.training_record_only or options.training_thresholds:
        unused |= {*ExpectedResults.model_fields}
    job = values.get("job")
    has_own_keys = isinstance(job, dict) and bool(job.get("custom_config_module"))
    lower_unknown = options.training_unknown_keys == "warn" or has_own_keys
    return typed(TorchTitanConfig, values, "", findings, unused=unused, lower_unknown=lower_unknown, notes=False)


def _model(reading: TorchTitanReading) -> str:
    return f"{reading.get('model.name')}-{reading.get('model.flavor')}"


def _job(reading: TorchTitanReading, config: TomlConfig, master: str, sizes: Sizes, expected: list[Bound]) -> Job:
    options, run = reading.options, reading.config.trainops
    port = options.training_master_port or _MASTER_PORT
    path = f"{_RUN}.container_config.env_dict"
    users = variables_of_user(run.container_config.env_dict, _ENVIRONMENT, path, reading.findings)
    staged = {name: table for name, table in config.values.items() if name != _RUN}
    return Job(
        branch=Branch(reading.mode, _model(reading), options.training_gpu or run.gpu or "", _RUN, {}),
        parameters=_parameters(reading, sizes),
        tokens_per_step_per_gpu=sizes.tokens_per_step_per_gpu,
        expected=expected,
        nnodes=reading.nnodes,
        master_address=master,
        master_port=port,
        image=run.container_image if options.container_engine != "none" else None,
        environment=_ENVIRONMENT | users,
        token_file=run.hf_token_file,
        token_variable="HF_TOKEN",
        command=_command(reading, master, port),
        working_dir=reading.root or "/",
        log_dir=run.log_dir,
        mounts=run.container_config.volume_dict,
        devices=run.container_config.device_list,
        container_options=container_options(
            run.container_name, run.shm_size, options.container_profile, multi_node=reading.nnodes > 1
        ),
        files={_FILE: config.text if _RUN not in config.values else written(staged)},
        tokens_per_sequence_per_gpu=sizes.tokens_per_sequence_per_gpu,
        architecture=architecture_of(reading),
        checkpoints=_checkpoints(reading),
        keeping=_kept(reading, sizes),
    )


def _kept(reading: TorchTitanReading, sizes: Sizes) -> Keeping:
    """Return what a rank keeps: weights, gradients and Adam's two moments, all of one type and sharded alike."""
    parallelism = reading.config.parallelism
    weight = 4.0 if reading.config.training.dtype == "float32" else 2.0
    shards = (sizes.data_parallelism or 1) // parallelism.data_parallel_replicate_degree
    shards *= parallelism.context_parallel_degree
    return Keeping(0.0, 4 * weight, max(1, shards), _KEPT[reading.config.activation_checkpoint.mode])


def _checkpoints(reading: TorchTitanReading) -> str:
    """Return the folder from which TorchTitan resumes by itself, empty if it does not, or each node has its own."""
    folder = reading.get("job.dump_folder") or ""
    goes_on = reading.get("checkpoint.enable") and folder.startswith("/")
    return f"{folder.rstrip('/')}/{reading.get('checkpoint.folder')}" if goes_on else ""


def _parameters(reading: TorchTitanReading, sizes: Sizes) -> Parameters:
    config = reading.config
    return {
        "nnodes": len(reading.nodes),
        "gpus_per_node": reading.options.training_gpus_per_node,
        "model_name": config.model.name,
        "model_size": config.model.flavor,
        "precision": precision_of(reading),
        "global_batch_size": sizes.global_batch_size,
        "micro_batch_size": sizes.micro_batch_size,
        "sequence_length": sizes.sequence_length,
        "tensor_parallelism": sizes.tensor_parallelism,
        "pipeline_parallelism": sizes.pipeline_parallelism,
        "context_parallelism": sizes.context_parallelism,
        "expert_parallelism": sizes.expert_parallelism,
        "data_parallelism": sizes.data_parallelism,
        "fsdp": (sizes.data_parallelism or 1) > config.parallelism.data_parallel_replicate_degree,
        "iterations": config.training.steps,
        "steps_per_line": config.metrics.log_freq,
    }


def _command(reading: TorchTitanReading, master: str, port: int) -> list[str]:
    gpus, config = reading.options.training_gpus_per_node, reading.config
    python = reading.options.training_torchtitan_python or config.trainops.python
    # Only the last stage of a pipeline knows the loss, and only the first rank says the end.
    shown = f"0,{gpus - 1}" if config.parallelism.pipeline_parallel_degree > 1 and gpus > 1 else "0"
    folder = config.job.dump_folder or ""
    outputs = [] if folder.startswith("/") else ["--job.dump_folder={run-folder}/outputs"]
    return [
        *([python, "-m", "torch.distributed.run"] if python else ["torchrun"]),
        *("--nnodes", str(reading.nnodes), "--node_rank", "{node-rank}", "--nproc_per_node", str(gpus)),
        *("--master_addr", master, "--master_port", str(port)),
        *("--local-ranks-filter", shown, "--role", "rank", "--tee", "3"),
        *("-m", config.trainops.module, f"--job.config_file={{run-folder}}/{_FILE}"),
        *outputs,
    ]
