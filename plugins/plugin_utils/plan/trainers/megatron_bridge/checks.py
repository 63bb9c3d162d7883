# SPDX-License-Identifier: GPL-3.0-or-later
"""What is checked of a recipe of Megatron Bridge in addition to its sizes."""

from __future__ import annotations

import re

from ....text.words import counted, listed, nearest, shown
from ...config.staged_secrets import check_secrets
from ...formats.bridge_yaml.reading import RUN
from ...job.container import check_container
from ...job.job import check_name
from ...job.known_names import warn_of_unknown_name
from ...job.sizes import check_scaling
from .reading import FLAG, BridgeReading
from .recipes import RECIPES
from .scale import BATCH, EXIT, INTERVAL, KINDS, STEPS, UNLOGGED

# Sections of Bridge's ConfigContainer (src/megatron/bridge/training/config.py), and the arguments that replace one as a
# whole.
_SECTIONS = (
    *("env_vars", "rng", "rerun_state_machine", "train", "model", "optimizer", "ddp", "validation", "scheduler"),
    *("dataset", "logger", "tokenizer", "checkpoint", "dist", "ft", "straggler", "nvrx_straggler", "profiling"),
    *("peft", "comm_overlap", "mixed_precision", "tensor_inspect", "inprocess_restart"),
    "optimizer_config_override_provider",
)
_FUNCTION = re.compile(r"[A-Za-z_]\w*")


def check_recipe(reading: BridgeReading, image: str | None) -> None:
    """Report everything that keeps a recipe from training, or its log from showing its steps."""
    config, findings = reading.config, reading.findings
    if config.recipe and not _FUNCTION.fullmatch(config.recipe):
        message = f"{shown(config.recipe)} is not the name of a function."
        reading.fault("recipe", message, "Give a name such as llama3_8b_pretrain_config, without a module.")
    elif config.recipe:
        check_name(reading.name.model, "recipe", findings)
        _check_mode(reading)
        warn_of_unknown_name(config.recipe, RECIPES, "Megatron Bridge of August 2026", "recipe", findings)
    run = config.trainops
    if run:
        check_container(run.container_config, findings, f"{RUN}.container_config", f"; use {RUN}.hf_token_file")
        _check_nodes(reading)
    check_secrets({name: value for name, value in reading.file.values.items() if name != RUN}, "", findings)
    check_secrets(reading.file.arguments, "training_overrides", findings)
    check_scaling(reading.options.training_scale_batch, reading.mode, None, "A recipe of Megatron Bridge", findings)
    _check_paths(reading)
    _check_steps(reading)
    _check_engine(reading, image)


def _check_mode(reading: BridgeReading) -> None:
    said, given, name = reading.name.mode, reading.config.mode, reading.config.recipe
    if said is None and given is None and "mode" not in reading.file.values:
        message = f"The name {name} does not say what to train."
        reading.fault("mode", message, "Give mode: pretrain, sft, lora or dora.")
    elif said and given and given != said and (reading.name.gpus or {said, given} != {"lora", "dora"}):
        reading.fault(
            "mode", f"{name} is a recipe for {said}, not {given}.", "Leave mode out, or choose another recipe."
        )
    if reading.name.gpus and reading.config.dataset:
        reading.warn(
            "dataset",
            "Recipes of megatron.bridge.perf_recipes keep their own dataset, and Bridge exits on another one.",
            "Leave it out, unless the recipe is one of megatron.bridge.recipes.",
        )


def _check_nodes(reading: BridgeReading) -> None:
    asked, there = reading.config.trainops.nnodes, len(reading.nodes)
    if asked and there and asked != there:
        reading.fault(
            f"{RUN}.nnodes",
            f"nnodes is {asked}, but the run has {counted(there, 'node')}.",
            "Change it, leave it out, or choose other hosts with training_hosts or training_exclude.",
        )
    gpus = reading.nnodes * (reading.options.training_gpus_per_node or 0) if there else 0
    if reading.name.gpus and gpus and gpus != reading.name.gpus:
        scaled = (
            ""
            if BATCH in reading.overrides
            else (f": Bridge scales the global batch size of a recipe of perf_recipes with them, unless {BATCH} is set")
        )
        reading.findings.note(
            f"The recipe is tuned for {counted(reading.name.gpus, 'GPU')}, and the job has {gpus}{scaled}."
        )


def _check_paths(reading: BridgeReading) -> None:
    for path, value in reading.overrides.items():
        section = path.split(".")[0]
        if path in KINDS:
            reading.given(path, KINDS[path])
        if section not in _SECTIONS:
            near = nearest(section, _SECTIONS)
            reading.findings.warn(
                reading.where(path),
                value,
                f"Bridge's ConfigContainer has no known section {section}; Bridge exits on one that it does not have.",
                f"Did you mean {near}?" if near else f"Known sections: {listed(_SECTIONS)}.",
            )


def _check_steps(reading: BridgeReading) -> None:
    steps, interval = reading.given(STEPS), reading.given(INTERVAL)
    if reading.overrides.get(STEPS) is None:
        reading.findings.fault(
            reading.where(STEPS),
            None,
            "The number of steps is not set, and a plan cannot read the recipe's own, often 300,000.",
            "Set train.train_iters in overrides, for example to 50.",
        )
    if steps and interval and steps % interval:
        reading.findings.warn(
            reading.where(INTERVAL),
            interval,
            f"The log has a line for each {interval} steps, so that none shows the last of {steps}: without it no run "
            "passes.",
            "Set it to 1, or leave it out.",
        )
    if reading.given(UNLOGGED, FLAG):
        message = "No step lines would be logged, so the run could not be judged."
        reading.findings.fault(reading.where(UNLOGGED), True, message, "Leave it out.")
    if reading.given(EXIT):
        message = "Bridge ends the training there, whatever train.train_iters is."
        reading.findings.warn(reading.where(EXIT), reading.overrides[EXIT], message, "Set train.train_iters instead.")


def _check_engine(reading: BridgeReading, image: str | None) -> None:
    if reading.options.container_engine == "none":
        return
    if image is None:
        reading.findings.fault(
            "training_image",
            None,
            "The file sets no container image.",
            "Set training_image, for example nvcr.io/nvidia/nemo:26.08, or container_engine=none for the hosts.",
        )
        return
    reading.findings.note(
        "A container gets NVIDIA's GPUs and drivers from NVIDIA's container runtime: docker needs it as its default "
        "runtime (nvidia-ctk runtime configure --runtime=docker --set-as-default), Slurm's Pyxis brings it along."
    )
