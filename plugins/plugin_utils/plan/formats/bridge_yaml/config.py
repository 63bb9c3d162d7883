# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of a file that selects a recipe of Megatron Bridge.

Source: scripts/training/run_recipe.py of NVIDIA-NeMo/Megatron-Bridge, August 2026.
"""

from __future__ import annotations

import typing as t

from ...config.field_types import ContainerName, Count, FreeObject, Path, Text, YamlText
from ...config.kinds import OneOf
from ...config.model import ConfigSection, key, optional
from ..run_section import HubRunSection

MODES = ("pretrain", "sft", "lora", "dora")
# DATASET_PRESETS in src/megatron/bridge/recipes/utils/dataset_utils.py.
DATASETS = (
    *("mock", "megatron-indexed", "energon", "squad", "tulu3", "openmathinstruct2", "openmathinstruct2-thinking"),
    *("gsm8k", "local-jsonl", "local-vlm", "cord-v2", "llava-video-178k", "medpix", "raven", "rdr"),
)


class RunConfig(HubRunSection):
    """The section ``trainops``: how to run."""

    bridge_root: Path = key(
        "Folder of Megatron Bridge with scripts/training/run_recipe.py, in the container or on the node; training "
        "starts there.",
        default="/opt/Megatron-Bridge",
    )
    nnodes: Count | None = optional("Number of nodes; it has to match the inventory.", example=2)
    gpu: Text | None = optional(
        "GPU of the nodes, whose peak the utilization is measured by; by default that in the recipe's name, and "
        "overridden by training_gpu.",
        example="H100",
    )
    python: Path | None = optional(
        "Python that has Megatron Bridge; without it torchrun is looked up in PATH.", example="/opt/venv/bin/python"
    )
    container_name: ContainerName = key("Name of the container on each node.", default="bridge_training")


class RecipeConfig(ConfigSection):
    """The top level of the file."""

    recipe: YamlText = key(
        "Function of megatron.bridge.recipes or megatron.bridge.perf_recipes.",
        example="llama3_8b_pretrain_8gpu_h100_bf16_config",
        variable="--recipe",
    )
    mode: t.Annotated[str, OneOf(MODES, strict=True)] | None = optional(
        "Kind of training; by default taken from the recipe's name.", example="pretrain", variable="--mode"
    )
    dataset: t.Annotated[str, OneOf(DATASETS, strict=True)] | None = optional(
        "Dataset in place of the recipe's; recipes in perf_recipes refuse one.", example="mock", variable="--dataset"
    )
    step_func: YamlText | None = optional(
        "Forward step, where the recipe's name does not decide it.", example="vlm_step", variable="--step-func"
    )
    overrides: FreeObject = key(
        "Values of Bridge's ConfigContainer, by path or in sections; they replace the recipe's.",
        default={},
        example={"train.train_iters": 50, "train.global_batch_size": 128},
        variable="KEY=VALUE",
    )
    trainops: RunConfig = key(
        "How to run: read only by this collection, not by Megatron Bridge.", default_factory=RunConfig
    )
