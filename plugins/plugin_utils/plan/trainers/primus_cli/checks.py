# SPDX-License-Identifier: GPL-3.0-or-later
"""What is checked of an experiment of Primus in addition to its sizes."""

from __future__ import annotations

import re
import typing as t

from ....text.words import key_path
from ...config.findings import Findings
from ...config.secret_names import is_secret_name, without_secrets
from ...formats.primus_yaml.run import RUN
from ...formats.primus_yaml.variables import VARIABLE
from ...job.container import check_container
from ...job.job import check_name
from .reading import PrimusReading
from .scale import Scale

_SHOWS_STEPS = ("DEBUG", "INFO", "TRACE")
# Sections of Bridge that Primus' own *_lora_posttrain_packed.yaml have at the top, where Primus reads neither.
_IGNORED = ("peft", "model")
_OPEN = re.compile(r"[\"']*|null|none", re.IGNORECASE)


def check_experiment(reading: PrimusReading, scale: Scale, model: str) -> None:
    """Report everything that keeps an experiment from training, or its log from showing its steps."""
    check_name(model, f"modules.{reading.module}.model", reading.findings)
    run = reading.config.trainops
    if run:
        instead = f"; use {RUN}.hf_token_file for the token of Hugging Face"
        check_container(run.container_config, reading.findings, f"{RUN}.container_config", instead)
    _check_level(reading)
    _check_last_line(reading, scale)
    _check_output(reading)


def without_ignored(values: dict[str, t.Any], module: str, findings: Findings) -> dict[str, t.Any]:
    """Return a file without the sections that Primus ignores, and warn of each."""
    for name in filter(values.__contains__, _IGNORED):
        message = f"{name} has no effect at the top of the file: Primus reads only what modules contains."
        remedy = f"Leave it out, or set its values in modules.{module}.overrides."
        findings.warn(name, values[name], message, remedy)
    return {name: value for name, value in values.items() if name not in _IGNORED}


def _check_level(reading: PrimusReading) -> None:
    level = reading.keys.text("stderr_sink_level")
    if level and level.upper() not in _SHOWS_STEPS:
        reading.findings.fault(
            reading.keys.where("stderr_sink_level"),
            level,
            f"At log level {level} no step lines are printed, so the run cannot be judged.",
            "Set it to INFO.",
        )


def _check_last_line(reading: PrimusReading, scale: Scale) -> None:
    steps, interval = scale.steps, scale.steps_per_line
    # TorchTitan says at its end how far it came.
    if steps and interval and steps % interval and reading.backend.startswith("megatron"):
        reading.findings.warn(
            reading.keys.where("train_iters"),
            steps,
            f"The log has a line for each {interval} steps, so that none shows the last of {steps}: without it no run "
            "passes.",
            f"Choose a multiple of {interval}.",
        )


def _check_output(reading: PrimusReading) -> None:
    workspace = reading.get("workspace")
    if reading.options.container_engine != "none" and workspace and not workspace.startswith("/"):
        reading.findings.note(
            f"Primus writes checkpoints and its own logs to {workspace}, relative to its folder in the container: they "
            "are gone with the container unless that folder is mounted."
        )


def check_no_secrets(values: t.Any, path: str, findings: Findings) -> None:
    """Report secrets in the file, which is part of the plan; a variable without a default is not a secret."""
    if isinstance(values, dict | list):
        for key, inner in values.items() if isinstance(values, dict) else enumerate(values):
            check_no_secrets(inner, key_path(path, key), findings)
    elif isinstance(values, str):
        variable = VARIABLE.fullmatch(values)
        held = (variable[2] or "") if variable else values
        name = path.rpartition(".")[2]
        if not _OPEN.fullmatch(held) and (is_secret_name(name) or without_secrets(held) != held):
            findings.fault(
                path,
                None,
                "This looks like a secret: it would appear in the plan and on the nodes.",
                f"Leave it out, and use {RUN}.hf_token_file or training_hf_token.",
            )


def check_engine(reading: PrimusReading, image: str | None) -> None:
    """Report a missing image, and warn of settings without effect if there is no container."""
    if reading.options.container_engine != "none" and image is None:
        reading.findings.fault(
            "training_image",
            None,
            "The file sets no container image.",
            "Set training_image, for example rocm/primus:v26.5, or container_engine=none to train on the hosts.",
        )
