# SPDX-License-Identifier: GPL-3.0-or-later
"""TorchTitan since 0.3: from a config's name, and values in place of its own, to the command of each node.

The config is a function in Python on the nodes, so that a plan knows only the values that replace its own.
Source: torchtitan/config/manager.py, torchtitan/config/configs.py and run_train.sh of pytorch/torchtitan at b5bcd76c.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Sequence

from ....contracts import Bound, OptionalParameters, Parameters
from ...config.findings import Findings
from ...config.kinds import Whole
from ...config.secret_names import is_secret_name, without_secrets
from ...formats.run_section import typed_file
from ...formats.torchtitan_run.config import RunFile
from ...formats.torchtitan_run.file import TitanRun
from ...job.architecture import KNOWN_MODELS, known_model
from ...job.job import Branch, Job, check_name
from ...job.ranks import Node
from ...job.sizes import Sizes, check_scaling, check_sizes
from ...job.thresholds import expected_in
from .checks import check_fault_tolerance, check_lines, warn_of_model
from .launch import MODULE, RUN, check_run, of_run, torchrun
from .names import check_config
from .options import TorchTitanOptions
from .reading import NamedReading
from .tokenizer import check_tokenizer, fetching, script_of

_ASSETS, _DUMP, _FT = "hf_assets_path", "dump_folder", "fault_tolerance."
_DEGREES = {
    "tensor_parallelism": "parallelism.tensor_parallel_degree",
    "pipeline_parallelism": "parallelism.pipeline_parallel_degree",
    "context_parallelism": "parallelism.context_parallel_degree",
}
_STEPS, _INTERVAL = "training.steps", "metrics.log_freq"
# A step's tokens and a sequence's; the names before the comma are current (August 2026), the others older.
_TOKENS, _LENGTHS = "training.num_tokens_per_train_step", ("training.max_context_length", "training.seq_len")
_BATCH, _LOCAL = "training.global_batch_size", "training.local_batch_size"
_KEYS = {**_DEGREES, "global_batch_size": _BATCH, "micro_batch_size": _LOCAL, "sequence_length": _LENGTHS[0]}
_QUANTIZED = re.compile(r"_(mxfp8|nvfp4|float8)(?![a-z])")
# -1 leaves a number to the others.
_OR_ANY = Whole(-1)
_PRECISIONS = {"float8": "fp8", "float32": "fp32"}


def plan_job(config: TitanRun, options: TorchTitanOptions, nodes: Sequence[Node], findings: Findings) -> Job | None:
    """Return the job to run, or None if there is any fault. ``nodes`` are in rank order."""
    mode = "multi_node" if options.training_mode == "auto" else options.training_mode
    read = typed_file(RunFile, config.values, options, findings)
    reading = NamedReading(read, mode, nodes, options, findings, config.overrides)
    sizes = _sizes_of(reading)
    check_sizes(sizes, None, {name: reading.where(key) for name, key in _KEYS.items()}, findings)
    check_run(reading)
    check_scaling(options.training_scale_batch, mode, None, "A config of TorchTitan", findings)
    check_lines(reading.given(_STEPS), reading.given(_INTERVAL), reading.where(_INTERVAL), findings)
    check_tokenizer(reading, _text(reading, _ASSETS), reading.where(_ASSETS))
    warn_of_model(options.training_model, "Set config.", findings)
    _check_paths(reading)
    _check_secrets(reading)
    section = {name.removeprefix(_FT): value for name, value in config.overrides.items() if name.startswith(_FT)}
    check_fault_tolerance(reading, section, f"overrides.{_FT.removesuffix('.')}")
    if read.config:
        check_name(read.config, "config", findings)
    check_config(reading)
    master = reading.master_address(f"{RUN}.master_address")
    expected = expected_in(reading, f"{RUN}.result_dict")
    tokens = _tokens_per_step_per_gpu(reading, sizes)
    return None if findings.faults else _job(reading, master, sizes, tokens, expected)


def _job(reading: NamedReading, master: str, sizes: Sizes, tokens: float | None, expected: list[Bound]) -> Job:
    name = reading.config.config
    known = known_model(name)
    return Job(
        **of_run(reading, _outputs(reading)),
        branch=Branch(reading.mode, name, reading.options.training_gpu or reading.config.trainops.gpu or "", RUN, {}),
        parameters=_parameters(reading, sizes),
        tokens_per_step_per_gpu=tokens,
        expected=expected,
        master_address=master,
        command=fetching(reading, _text(reading, _ASSETS), _command(reading, master)),
        files=script_of(reading),
        architecture=KNOWN_MODELS[known] if known else f"The shape of {name} is in its config.",
        checkpoints=_checkpoints(reading),
    )


def _command(reading: NamedReading, master: str) -> list[str]:
    pipeline = (reading.given(_DEGREES["pipeline_parallelism"]) or 1) > 1
    given = dict(reading.overrides)
    given[_DUMP] = _outputs(reading)
    return [
        *torchrun(reading, master, MODULE, pipeline=pipeline),
        *("--module", reading.config.module, "--config", reading.config.config),
        *(word for name, value in given.items() for word in _argument(name, value)),
    ]


def _outputs(reading: NamedReading) -> str:
    folder = _text(reading, _DUMP) or "outputs"
    return folder if folder.startswith("/") else f"{{run-folder}}/{folder}"


def _argument(name: str, value: t.Any) -> list[str]:
    """Return a value as TorchTitan's command line takes it: a truth value is an argument of its own."""
    if isinstance(value, bool):
        *sections, last = name.split(".")
        return [f"--{'.'.join([*sections, last if value else f'no-{last}'])}"]
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return [f"--{name}={text}"] if text.startswith("-") or not text else [f"--{name}", text]


def _sizes_of(reading: NamedReading) -> Sizes:
    """Return the sizes that are known; without a degree of its own, how GPUs share a model is in the config."""
    given = {name: reading.given(key) for name, key in _DEGREES.items()}
    if any(value is not None for value in given.values()):
        given = {name: value or 1 for name, value in given.items()}
    lengths, batch = list(filter(None, map(reading.given, _LENGTHS))), reading.given(_BATCH, _OR_ANY)
    return Sizes(
        nodes=reading.nnodes if reading.nodes else None,
        gpus_per_node=reading.options.training_gpus_per_node,
        expert_parallelism=reading.given("parallelism.expert_parallel_degree") or 1,
        global_batch_size=batch if batch and batch > 0 else None,
        micro_batch_size=reading.given(_LOCAL),
        sequence_length=next(iter(lengths), None),
        tensor_parallelism=given["tensor_parallelism"],
        pipeline_parallelism=given["pipeline_parallelism"],
        context_parallelism=given["context_parallelism"],
    )


def _tokens_per_step_per_gpu(reading: NamedReading, sizes: Sizes) -> float | None:
    tokens = reading.given(_TOKENS, _OR_ANY) or 0
    return tokens / sizes.gpus if tokens > 0 and sizes.gpus else sizes.tokens_per_step_per_gpu


def _parameters(reading: NamedReading, sizes: Sizes) -> Parameters:
    run, interval = reading.config.trainops, reading.given(_INTERVAL)
    optional: OptionalParameters = {}
    if run.nic_type:
        optional["nic_type"] = run.nic_type
    if interval:
        optional["steps_per_line"] = interval
    if (sizes.context_parallelism or 1) > 1:
        optional["context_parallelism"] = sizes.context_parallelism
    if sizes.expert_parallelism > 1:
        optional["expert_parallelism"] = sizes.expert_parallelism
    return {
        "nnodes": len(reading.nodes),
        "gpus_per_node": reading.options.training_gpus_per_node,
        "model_name": reading.config.config,
        "precision": _precision(reading),
        "global_batch_size": sizes.global_batch_size,
        "micro_batch_size": sizes.micro_batch_size,
        "sequence_length": sizes.sequence_length,
        "tensor_parallelism": sizes.tensor_parallelism,
        "pipeline_parallelism": sizes.pipeline_parallelism,
        "data_parallelism": sizes.data_parallelism,
        "iterations": reading.given(_STEPS),
        **optional,
    }


def _precision(reading: NamedReading) -> str:
    """Return the number format: from the name of a quantized config, or else the one that FSDP computes in."""
    quantized = _QUANTIZED.search(reading.config.config)
    named = quantized[1] if quantized else str(reading.overrides.get("training.mixed_precision_param", ""))
    return _PRECISIONS.get(named, named if quantized else "bf16")


def _checkpoints(reading: NamedReading) -> str:
    """Return the folder that TorchTitan resumes from by itself; empty if it does not, or if each node has its own."""
    folder = _text(reading, _DUMP) or ""
    goes_on = reading.overrides.get("checkpoint.enable") is True and folder.startswith("/")
    inner = _text(reading, "checkpoint.folder") or "checkpoint"
    return f"{folder.rstrip('/')}/{inner}" if goes_on else ""


def _check_paths(reading: NamedReading) -> None:
    assets = _text(reading, _ASSETS) or ""
    if not assets.startswith("/") and not reading.root:
        reading.findings.warn(
            reading.where(_ASSETS),
            assets or None,
            "No folder is set to start in, where the config looks for its tokenizer.",
            f"Set {RUN}.torchtitan_root or training_torchtitan_root, or overrides.{_ASSETS} to an absolute path.",
        )
    shared = (_text(reading, _DUMP) or "").startswith("/")
    if reading.overrides.get("checkpoint.enable") is True and reading.nnodes > 1 and not shared:
        reading.findings.warn(
            reading.where(_DUMP),
            _text(reading, _DUMP),
            "Each node would keep its part of the checkpoints in its own run folder, where no other node finds it.",
            "Give a folder that all nodes share, or set checkpoint.enable to false.",
        )


def _check_secrets(reading: NamedReading) -> None:
    """Report values that look like secrets: the plan shows all arguments."""
    for name, value in reading.overrides.items():
        secret = is_secret_name(name.rpartition(".")[2]) and value not in (None, "")
        if secret or (isinstance(value, str) and without_secrets(value) != value):
            reading.findings.fault(
                reading.where(name),
                None,
                "This looks like a secret: it would appear in the plan and on the nodes.",
                f"Leave it out, and use {RUN}.hf_token_file or training_hf_token.",
            )


def _text(reading: NamedReading, name: str) -> str | None:
    value = reading.overrides.get(name)
    return value if isinstance(value, str) else None
