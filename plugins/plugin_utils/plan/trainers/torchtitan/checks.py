# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a TorchTitan config before anything is launched."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ....text.words import shown
from ...config.findings import Findings
from ...job.sizes import check_scaling
from .launch import RUN, check_run
from .precision import CONVERTERS
from .reading import RunReading, TorchTitanReading

_LIGHTHOUSE = "TORCHFT_LIGHTHOUSE"


def check_config(reading: TorchTitanReading) -> None:
    """Report errors and keys without effect."""
    check_run(reading)
    check_lines(reading.get("training.steps"), reading.get("metrics.log_freq"), "metrics.log_freq", reading.findings)
    _check_converters(reading)
    _check_checkpoints(reading)
    check_fault_tolerance(reading, reading.get("fault_tolerance") or {}, "fault_tolerance")
    check_scaling(reading.options.training_scale_batch, reading.mode, None, "TorchTitan's TOML", reading.findings)
    if reading.get("job.config_file"):
        reading.warn("job.config_file", "config_file has no effect: the run has its own copy.", "Leave it out.")
    assets = reading.get("model.hf_assets_path") or ""
    if not assets.startswith("/") and not reading.root:
        reading.warn(
            "model.hf_assets_path",
            f"{shown(assets)} is relative, and no folder is set to start in.",
            "Set trainops.torchtitan_root or training_torchtitan_root, or give an absolute path.",
        )


def check_fault_tolerance(reading: RunReading[t.Any], given: Mapping[str, t.Any], place: str) -> None:
    """Report missing replica groups, or a missing lighthouse, of a training with TorchFT.

    ``given`` has the settings of the section at a place.
    Each replica group is a job of its own, and they meet at a lighthouse. Source: torchtitan/experiments/ft/torchft.md.
    """
    if given.get("enable") is not True:
        return
    groups = given.get("group_size")
    if isinstance(groups, int) and groups > 1:
        reading.findings.fault(
            f"{place}.group_size",
            groups,
            f"A run is one replica group, so the other {groups - 1} would be missing.",
            "Set it to 1, or set enable to false and let FSDP replicate (data_parallel_replicate_degree).",
        )
    if _LIGHTHOUSE not in reading.get(RUN).container_config.env_dict:
        reading.findings.warn(
            f"{place}.enable",
            True,
            f"TorchFT waits for a lighthouse at http://localhost:29510 of each node, because {_LIGHTHOUSE} is not set.",
            f"Start torchft_lighthouse, and set {RUN}.container_config.env_dict.{_LIGHTHOUSE} to its URL.",
        )


def warn_of_model(model: str | None, remedy: str, findings: Findings) -> None:
    """Warn of a model that a variable sets although the config has one."""
    if model:
        message = "training_model has no effect: the config has one."
        findings.warn("training_model", model, message, remedy)


def check_lines(steps: int | None, interval: int | None, place: str, findings: Findings) -> None:
    """Explain lines that stand for several steps, if both numbers are known."""
    if not steps or not interval:
        return
    if steps < 2 * interval:
        findings.warn(
            place,
            interval,
            f"With a line for every {interval} of {steps} steps, there are too few to judge.",
            "Set it to 1, or train more steps.",
        )
    elif steps % interval:
        findings.note(
            f"TorchTitan prints every {interval}th step, and so not the last one, {steps}: the run is complete with "
            "the line after which it ends."
        )


def _check_converters(reading: TorchTitanReading) -> None:
    quantize = reading.get("quantize") or {}
    converters = reading.get("model.converters")
    for part in ("linear", "grouped_mm"):
        of_part = quantize.get(part)
        for name in of_part if isinstance(of_part, dict) else ():
            converter = f"quantize.{part}.{name}"
            if converter in CONVERTERS and converters is not None and converter not in converters:
                reading.findings.warn(
                    converter,
                    None,
                    f"{converter} has no effect, because model.converters lacks it: the model is not trained in "
                    f"{CONVERTERS[converter].upper()}.",
                    f"Add {converter} to model.converters, or leave the table out.",
                )


def _check_checkpoints(reading: TorchTitanReading) -> None:
    folder = reading.get("job.dump_folder") or ""
    if reading.get("checkpoint.enable") and reading.nnodes > 1 and not folder.startswith("/"):
        reading.warn(
            "job.dump_folder",
            "Each node would keep its part of the checkpoints in its own run folder, where no other node finds it.",
            "Give a folder that all nodes share, or set checkpoint.enable to false.",
        )
