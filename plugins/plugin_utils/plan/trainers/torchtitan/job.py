# SPDX-License-Identifier: GPL-3.0-or-later
"""TorchTitan: from its TOML file to the command of each node.

Source: run_train.sh and torchtitan/config/manager.py of pytorch/torchtitan 0.2.2.
"""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from ....contracts import Bound, OptionalParameters, Parameters
from ...config.findings import Findings
from ...config.staged_secrets import check_secrets
from ...config.toml_config import written
from ...formats.run_section import typed_file
from ...formats.torchtitan_toml.config import TorchTitanConfig
from ...formats.torchtitan_toml.file import TitanFile
from ...formats.torchtitan_toml.older import without_older_keys
from ...job.job import Branch, Job, check_name
from ...job.memory import ALL, INPUT, SELECTIVE, Keeping
from ...job.ranks import Node
from ...job.sizes import Sizes
from ...job.thresholds import expected_in
from .architecture import architecture_of
from .checks import check_config, warn_of_model
from .launch import MODULE, RUN, of_run, torchrun
from .names import check_model
from .options import TorchTitanOptions
from .precision import precision_of
from .reading import TorchTitanReading
from .sizes import check_sizes, sizes_of
from .tokenizer import check_tokenizer, fetching, script_of

_FILE = "torchtitan.toml"
_OUTPUTS = "{run-folder}/outputs"
_ASSETS = "model.hf_assets_path"
# As their own run_train.sh has it.
_OWN_MODULES = {"flux": "torchtitan.models.flux.train"}
# torchtitan.train ignores the table fault_tolerance.
_FAULT_TOLERANT = "torchtitan.experiments.ft.train"
# By activation_checkpoint.mode.
_KEPT = {"none": ALL, "selective": SELECTIVE, "memory_budget": SELECTIVE, "full": INPUT}


def plan_job(config: TitanFile, options: TorchTitanOptions, nodes: Sequence[Node], findings: Findings) -> Job | None:
    """Return the job to run, or None if there is any fault. ``nodes`` are in rank order."""
    mode = config.mode if options.training_mode == "auto" else options.training_mode
    reading = TorchTitanReading(_typed(config.values, options, findings), mode, nodes, options, findings)
    sizes = sizes_of(reading)
    check_secrets(_staged(config), "", findings)
    check_config(reading)
    check_tokenizer(reading, reading.get(_ASSETS), _ASSETS)
    check_sizes(sizes, reading)
    if not config.model:
        warn_of_model(options.training_model, "Set model.name and model.flavor.", findings)
        check_model(reading)
        if reading.get("model.name") and reading.get("model.flavor"):
            check_name(_model(reading), "model.flavor", findings)
    master = reading.master_address(f"{RUN}.master_address")
    expected = expected_in(reading, f"{RUN}.result_dict")
    return None if findings.faults else _job(reading, config, master, sizes, expected)


def _typed(values: dict[str, t.Any], options: TorchTitanOptions, findings: Findings) -> TorchTitanConfig:
    job = values.get("job")
    values = without_older_keys(values, findings)
    has_own_keys = isinstance(job, dict) and bool(job.get("custom_config_module"))
    return typed_file(TorchTitanConfig, values, options, findings, lower_unknown=has_own_keys)


def _staged(config: TitanFile) -> dict[str, t.Any]:
    """Return the variables that TorchTitan reads."""
    return {name: table for name, table in config.values.items() if name != RUN}


def _model(reading: TorchTitanReading) -> str:
    return f"{reading.get('model.name')}-{reading.get('model.flavor')}"


def _job(reading: TorchTitanReading, config: TitanFile, master: str, sizes: Sizes, expected: list[Bound]) -> Job:
    return Job(
        **of_run(reading, _outputs(reading)),
        branch=Branch(
            reading.mode,
            config.model or _model(reading),
            reading.options.training_gpu or reading.config.trainops.gpu or "",
            RUN,
            {},
        ),
        parameters=_parameters(reading, sizes),
        tokens_per_step_per_gpu=sizes.tokens_per_step_per_gpu,
        expected=expected,
        master_address=master,
        command=fetching(reading, reading.get(_ASSETS), _command(reading, master)),
        files={_FILE: config.text if RUN not in config.values else written(_staged(config)), **script_of(reading)},
        tokens_per_sequence_per_gpu=sizes.tokens_per_sequence_per_gpu,
        architecture=architecture_of(reading),
        checkpoints=_checkpoints(reading),
        keeping=_kept(reading, sizes),
    )


def _kept(reading: TorchTitanReading, sizes: Sizes) -> Keeping:
    """Return a rank's memory content: weights, gradients and Adam's two moments, of one type and sharded alike."""
    parallelism = reading.config.parallelism
    weight = 4.0 if reading.config.training.dtype == "float32" else 2.0
    shards = (sizes.data_parallelism or 1) // parallelism.data_parallel_replicate_degree
    shards *= parallelism.context_parallel_degree
    return Keeping(0.0, 4 * weight, max(1, shards), _KEPT[reading.config.activation_checkpoint.mode])


def _checkpoints(reading: TorchTitanReading) -> str:
    """Return the folder that TorchTitan resumes from by itself; empty if it does not, or if each node has its own."""
    folder = reading.get("job.dump_folder") or ""
    goes_on = reading.get("checkpoint.enable") and folder.startswith("/")
    return f"{folder.rstrip('/')}/{reading.get('checkpoint.folder')}" if goes_on else ""


def _parameters(reading: TorchTitanReading, sizes: Sizes) -> Parameters:
    config = reading.config
    cards: OptionalParameters = {"nic_type": config.trainops.nic_type} if config.trainops.nic_type else {}
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
        **cards,
    }


def _outputs(reading: TorchTitanReading) -> str:
    folder = reading.config.job.dump_folder or ""
    return folder if folder.startswith("/") else _OUTPUTS


def _command(reading: TorchTitanReading, master: str) -> list[str]:
    config = reading.config
    folder = _outputs(reading)
    outputs = [f"--job.dump_folder={folder}"] if folder == _OUTPUTS else []
    is_fault_tolerant = (config.fault_tolerance or {}).get("enable") is True
    module = _FAULT_TOLERANT if is_fault_tolerant else _OWN_MODULES.get(config.model.name, MODULE)
    start = torchrun(reading, master, module, pipeline=config.parallelism.pipeline_parallel_degree > 1)
    return [*start, f"--job.config_file={{run-folder}}/{_FILE}", *outputs]
