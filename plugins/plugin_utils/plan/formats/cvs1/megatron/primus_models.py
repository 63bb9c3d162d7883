# SPDX-License-Identifier: GPL-3.0-or-later
"""Which experiment of an image of Primus a CVS config for Megatron-LM means.

Sources: ``_exp_config_path`` of cvs/lib/training/megatron/primus_lib.py in ROCm/cvs at 15ea03dd, and
examples/megatron/configs of AMD-AGI/Primus at fd1eeabb.
"""

from __future__ import annotations

from ..branch import canonical_gpu, canonical_model

GPUS = {"mi300": "MI300X", "mi325": "MI325X", "mi350": "MI355X", "mi355": "MI355X"}
# The precision in the file's name, and the keys that the file sets for it.
PRECISIONS: dict[str, dict[str, str]] = {
    "BF16": {},
    "FP8": {"fp8": "hybrid"},
    "MXFP8": {"fp8": "e4m3", "fp8_recipe": "mxfp8"},
    "MXFP4": {"fp4": "e2m1", "fp4_recipe": "mxfp4"},
}
_FOR_EVERY_GPU = (
    *("llama2_7B", "llama2_13B", "llama2_70B", "llama3_8B", "llama3_70B", "llama3.1_8B", "llama3.1_70B"),
    *("llama3.1_405B", "llama3.2_1B", "llama3.2_3B", "llama3.3_70B", "llama4_17B16E", "llama4_17B128E"),
    *("deepseek_v2_lite", "deepseek_v2", "deepseek_v3", "mixtral_8x7B_v0.1", "mixtral_8x22B_v0.1"),
    *("qwen2.5_3B", "qwen2.5_7B", "qwen2.5_14B", "qwen2.5_32B", "qwen2.5_72B", "qwen3_4B", "qwen3_8B"),
    *("qwen3_14B", "qwen3_32B", "qwen3_30B_A3B", "qwen3_235B_A22B", "gpt_oss_20B", "grok1", "grok2"),
)
_FOR_MI355X = ("deepseek_v4_flash", "glm5", "gpt_oss_120B", "kimi_k2", "lfm2_8B_A1B", "minimax_m2.5")
# Each model has its GPUs that Primus has experiments for, all of them in BF16 and FP8.
MODELS = {
    **dict.fromkeys(_FOR_EVERY_GPU, ("MI300X", "MI325X", "MI355X")),
    **dict.fromkeys(_FOR_MI355X, ("MI355X",)),
    "qwen3_5_35B_A3B": ("MI300X", "MI355X"),
}
# The one that there are experiments for in the MX formats as well.
_IN_MX = ("llama3.1_8B", "MI355X")


def model_in_primus(name: str) -> str | None:
    """Return the name of a model in Primus, however it is written; None if it is not known there."""
    return next((model for model in MODELS if canonical_model(model) == canonical_model(name)), None)


def gpu_in_primus(name: str) -> str | None:
    """Return the folder of a GPU among Primus' experiments; None if there is none."""
    return GPUS.get(canonical_gpu(name))


def precisions_of(model: str, gpu: str) -> tuple[str, ...]:
    """Return the precisions of the existing experiments, for a model and a GPU by Primus' names."""
    return tuple(PRECISIONS) if (model, gpu) == _IN_MX else ("BF16", "FP8")
