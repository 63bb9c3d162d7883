# SPDX-License-Identifier: GPL-3.0-or-later
"""Primus: from its experiment file to the command of each node.

Every node runs primus-cli in its direct mode, which sets up the node and starts torchrun, or Python for JAX. The file
is staged unchanged; values of ``training_overrides`` are arguments, which win over it.
Source: runner/primus-cli, runner/primus-cli-direct.sh and primus/cli/subcommands/train.py of AMD-AGI/Primus.
"""

from __future__ import annotations

import posixpath
import re
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ....contracts import OptionalParameters, Parameters
from ...config.findings import Findings
from ...formats.primus_yaml.experiment import Experiment
from ...formats.primus_yaml.keys import Keys
from ...formats.primus_yaml.overrides import overrides_of
from ...formats.primus_yaml.presets import checkout_of, presets_of
from ...formats.primus_yaml.reading import PrimusFile, merged
from ...formats.primus_yaml.run import RUN, mode_of, run_of
from ...formats.primus_yaml.run_config import RunConfig
from ...formats.primus_yaml.variables import resolved
from ...formats.run_section import typed_file
from ...job.architecture import KNOWN_MODELS, Architecture, known_model
from ...job.container import container_options, variables_of_user
from ...job.environment_variables import recording
from ...job.job import Branch, Job
from ...job.ranks import Node
from ...job.sizes import check_scaling
from ...job.thresholds import expected_in
from .checks import check_engine, check_experiment, check_no_secrets, without_ignored
from .environment import MASTER_PORT, environment_of, note_added
from .keeping import keeping_of
from .options import PrimusOptions
from .reading import PrimusReading
from .scale import Scale, scale_of

_SCRIPT = "runner/primus-cli"
_STAGED = "experiment.yaml"
_SUITES = {"pre_trainer": "pretrain", "post_trainer": "posttrain"}
_WITHOUT_TORCH = ("maxtext",)
_DEVICES = ("/dev/kfd", "/dev/dri")
_FABRIC = "/dev/infiniband"
_ACCELERATOR = re.compile(r"MI[0-9]{3}[A-Z]?", re.IGNORECASE)
# Keys that change the shape of a model.
_SHAPE = ("num_layers", "hidden_size", "ffn_hidden_size", "num_attention_heads", "num_query_groups", "num_experts")
_SHAPE_OF_MAXTEXT = ("base_num_decoder_layers", "base_emb_dim", "base_mlp_dim", "base_num_query_heads")


def plan_job(config: PrimusFile, options: PrimusOptions, nodes: Sequence[Node], findings: Findings) -> Job | None:
    """Return the job to run, or None if there is any fault. ``nodes`` are in rank order."""
    check_no_secrets({key: value for key, value in config.values.items() if key != RUN}, "", findings)
    mode = mode_of(config, options.training_mode)
    values = resolved(config.values, _variables(config), "", findings)
    reported = {finding["key"] for finding in findings.faults}
    own = Findings()
    experiment = typed_file(Experiment, without_ignored(values, config.module, own), options, own)
    path = f"modules.{config.module}"
    module = values["modules"][config.module]
    given = Keys(overrides_of(module, config.arguments), f"{path}.overrides", own)
    checkout = checkout_of(config, options.training_primus_checkout)
    presets = presets_of(config, module, checkout, _variables(config), own)
    keys = replace(given, values=merged(presets, dict(given.values)))
    reading = PrimusReading(
        experiment, mode, nodes, options, own, config.module, config.backend, given, keys, bool(config.in_image)
    )
    if checkout:
        own.note(f"What the file does not say is taken from Primus' presets in {checkout}.")
    job = _checked_job(reading, config, module)
    # What could not be resolved is not reported again as missing.
    for fault in own.faults:
        if fault["key"] not in reported:
            findings.fault(**fault)
    for warning in own.warnings:
        findings.warn(**warning)
    findings.notes += own.notes
    return None if findings.faults else job


def _variables(config: PrimusFile) -> dict[str, str]:
    container = run_of(config).get("container_config")
    given = container.get("env_dict") if isinstance(container, dict) else None
    return {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else {}


def _checked_job(reading: PrimusReading, config: PrimusFile, module: Mapping[str, t.Any]) -> Job | None:
    options = reading.options
    run = reading.config.trainops or RunConfig.model_construct()
    model = _model_of(module)
    check_scaling(options.training_scale_batch, reading.mode, None, "An experiment of Primus", reading.findings)
    scale = scale_of(reading)
    image = run.container_image or options.training_image or None
    check_engine(reading, image)
    check_experiment(reading, scale, model)
    master = reading.master_address(f"{RUN}.master_address")
    expected = expected_in(reading, f"{RUN}.result_dict")
    if reading.findings.faults:
        return None
    port, gpus = options.training_master_port or MASTER_PORT, options.training_gpus_per_node
    environment = environment_of(master, port, reading.nnodes, gpus)
    given = run.container_config.env_dict
    users = variables_of_user(given, environment, f"{RUN}.container_config.env_dict", reading.findings)
    note_added(users, gpus, reading.findings)
    _note_unknown(reading, scale)
    shape = _architecture_of(reading, model)
    return Job(
        branch=Branch(reading.mode, model, options.training_gpu or _gpu_of(config.source), RUN, {}),
        parameters=_parameters(reading, scale, model),
        tokens_per_step_per_gpu=scale.sizes.tokens_per_step_per_gpu,
        expected=expected,
        nnodes=reading.nnodes,
        master_address=master,
        master_port=port,
        image=image if options.container_engine != "none" else None,
        environment=environment | users,
        token_file=run.hf_token_file,
        # Primus and its libraries read no file with the token.
        token_variable="HF_TOKEN",
        command=_command(config),
        working_dir=options.training_primus_root or run.primus_root,
        log_dir=run.log_dir,
        mounts=run.container_config.volume_dict,
        devices=run.container_config.device_list or [*_DEVICES, *([_FABRIC] if reading.nnodes > 1 else [])],
        container_options=container_options(
            run.container_name, run.shm_size, options.container_profile, multi_node=reading.multi_node
        ),
        files={} if config.in_image else {_STAGED: config.text},
        script=_SCRIPT,
        architecture=shape,
        checkpoints=_checkpoints(reading),
        recorder={} if reading.backend in _WITHOUT_TORCH else recording(users),
        keeping=keeping_of(reading, scale, shape),
    )


def _command(config: PrimusFile) -> list[str]:
    arguments = [word for key, value in config.arguments.items() for word in _argument(key, value)]
    return [
        *("bash", _SCRIPT, "direct", "--log_file", "{run-folder}/primus.log"),
        *("--", "train", _SUITES[config.module], "--config", config.in_image or f"{{run-folder}}/{_STAGED}"),
        *arguments,
    ]


def _argument(key: str, value: t.Any) -> list[str]:
    """Return a value as primus-cli takes it: it reads texts as Python does."""
    text = value if isinstance(value, str) else repr(value)
    return [f"--{key}={text}"] if "=" in text or text.startswith("-") else [f"--{key}", text]


def _model_of(module: Mapping[str, t.Any]) -> str:
    """Return the name of the model's preset, or of the module's preset if the model has none."""
    name = posixpath.basename(str(module.get("model") or module.get("config") or "model"))
    return re.sub(r"\.ya?ml$", "", name)


def _gpu_of(source: str) -> str:
    """Return the GPU in whose folder the file is, as in Primus' examples, or ``gpu``."""
    return next((part.lower() for part in reversed(source.split("/")[:-1]) if _ACCELERATOR.fullmatch(part)), "gpu")


def _architecture_of(reading: PrimusReading, model: str) -> Architecture | str:
    if changed := [key for key in (*_SHAPE, *_SHAPE_OF_MAXTEXT) if reading.own.gives(key)]:
        return f"The file changes the shape of {model} ({', '.join(changed)})."
    known = known_model(model)
    return KNOWN_MODELS[known] if known else f"The shape of {model} is in Primus' preset."


def _checkpoints(reading: PrimusReading) -> str:
    """Return the folder that Megatron-LM resumes from: the one it loads from, if it saves there as well."""
    saved = reading.keys.text("save")
    return saved if saved and saved == reading.keys.text("load") else ""


def _parameters(reading: PrimusReading, scale: Scale, model: str) -> Parameters:
    sizes = scale.sizes
    parallel: OptionalParameters = {}
    if sizes.context_parallelism not in (None, 1):
        parallel["context_parallelism"] = sizes.context_parallelism
    if sizes.expert_parallelism not in (None, 1):
        parallel["expert_parallelism"] = sizes.expert_parallelism
    return {
        "nnodes": len(reading.nodes),
        "gpus_per_node": reading.options.training_gpus_per_node,
        "model_name": model,
        "precision": scale.precision,
        "global_batch_size": sizes.global_batch_size,
        "micro_batch_size": sizes.micro_batch_size,
        "sequence_length": sizes.sequence_length,
        "tensor_parallelism": sizes.tensor_parallelism,
        "pipeline_parallelism": sizes.pipeline_parallelism,
        **parallel,
        "data_parallelism": sizes.data_parallelism,
        "iterations": scale.steps,
    }


def _note_unknown(reading: PrimusReading, scale: Scale) -> None:
    named = {
        "the number of steps": scale.steps,
        "the micro batch size": scale.sizes.micro_batch_size,
        "the global batch size": scale.sizes.global_batch_size,
        "the sequence length": scale.sizes.sequence_length,
    }
    if unknown := [name for name, value in named.items() if value is None]:
        reading.findings.note(f"Primus' presets set the values that the file leaves out: {', '.join(unknown)}.")
