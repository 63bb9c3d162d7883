# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts in the name of a Megatron Bridge recipe.

Source: scripts/training/recipe_metadata.py of NVIDIA-NeMo/Megatron-Bridge: a name ends with
``_<task>_<N>gpu_<gpu>_<precision>[_<variant>]_config``, or, for a general one, with ``_<task>_config``.
"""

from __future__ import annotations

import re
import typing as t

_TUNED = re.compile(
    r"^(?P<model>\w+)_(?P<task>pretrain|sft|peft)_(?P<gpus>[1-9][0-9]*)gpu_(?P<gpu>[a-z0-9]+)_"
    r"(?P<precision>bf16|fp8cs|fp8ds|fp8mx|fp8sc|nvfp4)(?:_[a-z0-9_]+)?_config$"
)
_TASKS = {"pretrain": "pretrain", "sft": "sft", "finetune": "sft", "dora": "dora", "peft": "lora", "lora": "lora"}
_GENERAL = re.compile(rf"^(?P<model>\w+?)_(?P<task>{'|'.join(_TASKS)})(?:_\w+)?$")
_PRECISIONS = {"fp8cs": "fp8", "fp8ds": "fp8", "fp8sc": "fp8", "fp8mx": "mxfp8"}


class RecipeName(t.NamedTuple):
    """The model, the mode, and of a tuned recipe the number and kind of its GPUs and its precision."""

    model: str
    mode: str | None
    gpus: int | None = None
    gpu: str = ""
    precision: str = ""


def read_name(name: str) -> RecipeName:
    """Return the facts that a recipe's name contains."""
    if tuned := _TUNED.match(name):
        precision = _PRECISIONS.get(tuned["precision"], tuned["precision"])
        return RecipeName(tuned["model"], _TASKS[tuned["task"]], int(tuned["gpus"]), tuned["gpu"].upper(), precision)
    if general := _GENERAL.match(name):
        return RecipeName(general["model"], _TASKS[general["task"]])
    return RecipeName(name.removesuffix("_config"), None)
