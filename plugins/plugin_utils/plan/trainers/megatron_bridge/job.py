# SPDX-License-Identifier: GPL-3.0-or-later
"""Megatron Bridge: from the name of a recipe to the command of each node.

Every node runs torchrun with Bridge's own entry point, scripts/training/run_recipe.py, which needs no Slurm and no
NeMo-Run. Overrides are its arguments KEY=VALUE.
Source: scripts/training/{README.md,run_recipe.py,launch_with_sbatch.sh} of NVIDIA-NeMo/Megatron-Bridge, August 2026.
"""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping, Sequence

from ....contracts import Bound, OptionalParameters, Parameters
from ....text.words import listed
from ...config.findings import Findings
from ...formats.bridge_yaml.config import RecipeConfig, RunConfig
from ...formats.bridge_yaml.reading import RUN, RecipeFile, mode_of, overrides_of
from ...formats.bridge_yaml.recipe_name import read_name
from ...formats.run_section import typed_file
from ...job.container import container_options, variables_of_user
from ...job.environment_variables import recording
from ...job.job import Branch, Job
from ...job.ranks import Node
from ...job.sizes import Sizes
from ...job.thresholds import expected_in
from .checks import check_recipe
from .options import BridgeOptions
from .reading import BridgeReading
from .scale import INTERVAL, KINDS, STEPS, architecture_of, precision_of, sizes_of

# launch_with_sbatch.sh of Bridge uses this port.
_MASTER_PORT = 29500
_SCRIPT = "scripts/training/run_recipe.py"
_FABRIC = "/dev/infiniband"
_ENVIRONMENT = {
    # torchrun itself writes to a file, and would keep the lines of its ranks until it has many.
    "PYTHONUNBUFFERED": "1",
}
# Step lines with rates, and no checkpoint to resume from. The file's own values take precedence.
_SET = {
    INTERVAL: 1,
    "logger.log_throughput": True,
    "checkpoint.save": None,
    "checkpoint.load": None,
}


def plan_job(config: RecipeFile, options: BridgeOptions, nodes: Sequence[Node], findings: Findings) -> Job | None:
    """Return the job to run, or None if there is any fault. ``nodes`` are in rank order."""
    read = typed_file(RecipeConfig, config.values, options, findings)
    given = overrides_of(config, findings)
    written = {path.lstrip("+"): path for path in given}
    overrides = {path: given[as_given] for path, as_given in written.items()}
    name = read_name(read.recipe or "")
    reading = BridgeReading(
        read, mode_of(options.training_mode), nodes, options, findings, overrides, config, name, written
    )
    run = read.trainops or RunConfig.model_construct()
    image = run.container_image or options.training_image or None
    check_recipe(reading, image)
    sizes = sizes_of(reading)
    master = reading.master_address(f"{RUN}.master_address")
    expected = expected_in(reading, f"{RUN}.result_dict")
    return None if findings.faults else _job(reading, run, image, master, sizes, expected)


def _job(
    reading: BridgeReading, run: RunConfig, image: str | None, master: str, sizes: Sizes, expected: list[Bound]
) -> Job:
    options, name = reading.options, reading.name
    port = options.training_master_port or _MASTER_PORT
    path = f"{RUN}.container_config.env_dict"
    users = variables_of_user(run.container_config.env_dict, _ENVIRONMENT, path, reading.findings)
    added = {path: value for path, value in _SET.items() if path not in reading.overrides}
    _note_added(reading, sizes, added)
    return Job(
        branch=Branch(reading.mode, name.model, options.training_gpu or run.gpu or name.gpu or "gpu", RUN, {}),
        parameters=_parameters(reading, sizes),
        tokens_per_step_per_gpu=sizes.tokens_per_step_per_gpu,
        expected=expected,
        nnodes=reading.nnodes,
        master_address=master,
        master_port=port,
        image=image if options.container_engine != "none" else None,
        environment=_ENVIRONMENT | users,
        token_file=run.hf_token_file,
        token_variable="HF_TOKEN",
        command=_command(reading, run, master, port, added),
        working_dir=options.training_megatron_bridge_root or run.bridge_root,
        log_dir=run.log_dir,
        mounts=run.container_config.volume_dict,
        devices=run.container_config.device_list or ([_FABRIC] if reading.nnodes > 1 else []),
        container_options=container_options(
            run.container_name, run.shm_size, options.container_profile, multi_node=reading.multi_node
        ),
        script=_SCRIPT,
        tokens_per_sequence_per_gpu=sizes.tokens_per_sequence_per_gpu,
        architecture=architecture_of(reading),
        checkpoints=_checkpoints(reading),
        recorder=recording(users),
    )


def _note_added(reading: BridgeReading, sizes: Sizes, added: Mapping[str, t.Any]) -> None:
    if added:
        reading.findings.note(
            f"The plan adds overrides that the file does not set: {listed(map(_override, added, added.values()))}; so "
            "each step has a line with its rate, and nothing is saved, or loaded from a run before."
        )
    named = {
        "the micro batch size": sizes.micro_batch_size,
        "the global batch size": sizes.global_batch_size,
        "the sequence length": sizes.sequence_length,
        "the parallelism": sizes.model_parallelism,
    }
    if unknown := [what for what, value in named.items() if value is None]:
        reading.findings.note(
            f"The recipe sets the values that the file leaves out: {listed(unknown)}. Tokens per second are known if "
            "train.global_batch_size and dataset.seq_length are set."
        )


def _command(reading: BridgeReading, run: RunConfig, master: str, port: int, added: Mapping[str, t.Any]) -> list[str]:
    config, python = reading.config, reading.options.training_megatron_bridge_python or run.python
    chosen = {"--mode": config.mode or reading.name.mode, "--dataset": config.dataset, "--step-func": config.step_func}
    known = {path: reading.given(path, kind) for path, kind in KINDS.items() if path in reading.overrides}
    return [
        *([python, "-m", "torch.distributed.run"] if python else ["torchrun"]),
        *("--nnodes", str(reading.nnodes), "--node_rank", "{node-rank}"),
        *("--nproc_per_node", str(reading.options.training_gpus_per_node)),
        *("--master_addr", master, "--master_port", str(port)),
        *(_SCRIPT, "--recipe", config.recipe),
        *(word for option, value in chosen.items() if value for word in (option, value)),
        *(
            _override(reading.written.get(path, path), value)
            for path, value in {**added, **reading.overrides, **known}.items()
        ),
    ]


def _override(path: str, value: t.Any) -> str:
    """Return a value as an argument of Bridge, which reads it as Hydra does; null, numbers and lists are as in JSON."""
    return f"{path}={json.dumps(value, ensure_ascii=False)}"


def _checkpoints(reading: BridgeReading) -> str:
    """Return the folder that Bridge resumes from: the one it loads from, if it saves there as well."""
    saved = reading.text("checkpoint.save")
    return saved if saved and saved == reading.text("checkpoint.load") else ""


def _parameters(reading: BridgeReading, sizes: Sizes) -> Parameters:
    parallel: OptionalParameters = {}
    if sizes.context_parallelism not in (None, 1):
        parallel["context_parallelism"] = sizes.context_parallelism
    if sizes.expert_parallelism != 1:
        parallel["expert_parallelism"] = sizes.expert_parallelism
    return {
        "nnodes": len(reading.nodes),
        "gpus_per_node": reading.options.training_gpus_per_node,
        "model_name": reading.name.model,
        "precision": precision_of(reading),
        "global_batch_size": sizes.global_batch_size,
        "micro_batch_size": sizes.micro_batch_size,
        "sequence_length": sizes.sequence_length,
        "tensor_parallelism": sizes.tensor_parallelism,
        "pipeline_parallelism": sizes.pipeline_parallelism,
        **parallel,
        "data_parallelism": sizes.data_parallelism,
        "iterations": reading.given(STEPS),
    }
