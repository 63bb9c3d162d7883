# SPDX-License-Identifier: GPL-3.0-or-later
"""The section ``trainops`` of files whose own format does not say how to run them."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from pydantic import BaseModel

from ..config.field_types import ContainerName, Path, Size, Text
from ..config.findings import Findings
from ..config.model import ConfigSection, key, optional, typed
from ..job.container import CONTAINER_KEYS, ContainerConfig
from ..job.options import ConfigOptions
from ..job.thresholds import ExpectedResults


class RunSection(ConfigSection):
    """What every such section has."""

    log_dir: Path = key(
        "Log folder on each node, with one subfolder per run and node.", default="/home/{user-id}/LOG_DIR"
    )
    master_address: Text | None = optional(
        "Address of rank 0, where the nodes meet; by default, or with auto, from the inventory.",
        example="auto",
        variable="MASTER_ADDR",
    )
    container_image: Text | None = optional(
        "Container image; without it, and without training_image, the training runs on the hosts."
    )
    container_name: ContainerName = key("Name of the container on each node.", default="training")
    shm_size: Size = key("Size of the container's /dev/shm.", default="64G")
    container_config: ContainerConfig = key(
        "What the container sees of the node, and the environment of the training.", default_factory=ContainerConfig
    )
    result_dict: ExpectedResults = key("Thresholds of the verdict.", default_factory=ExpectedResults)


class HubRunSection(RunSection):
    """The same for trainers that may fetch a tokenizer or a dataset from the Hugging Face hub."""

    hf_token_file: Path | None = optional(
        "File with the Hugging Face token, which gated tokenizers need. The plan has only its path, never the token.",
        example="/home/{user-id}/.hf_token",
        variable="HF_TOKEN",
    )


ModelT = t.TypeVar("ModelT", bound=BaseModel)


def typed_file(
    model: type[ModelT],
    values: Mapping[str, t.Any],
    options: ConfigOptions,
    findings: Findings,
    *,
    lower_unknown: bool = False,
) -> ModelT:
    """Return the model of a file with such a section; see `typed`. Keys that the run does not read are not checked."""
    unused = {*(CONTAINER_KEYS if options.container_engine == "none" else ())}
    if not options.is_judged:
        unused |= {*ExpectedResults.model_fields}
    lower_unknown = lower_unknown or options.lower_unknown
    return typed(model, values, "", findings, unused=unused, lower_unknown=lower_unknown, notes=False)
