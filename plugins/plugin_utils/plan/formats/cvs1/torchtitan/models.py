# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of TorchTitan's models a CVS config means.

Sources: cvs/lib/torchtitan_training_lib.py and cvs/lib/training/torchtitan/model_registry.py of ROCm/cvs, and
torchtitan/models/*/__init__.py of pytorch/torchtitan 0.2.2.
"""

from __future__ import annotations

import re

from ..branch import canonical_model

# The beginning of the name decides; CVS takes any other model for Llama 3.
_NAMES = {
    "llama3": re.compile(r"llama_?3"),
    "qwen3": re.compile(r"qwen_?3"),
    "deepseek_v3": re.compile(r"deepseek(?!_v2)"),
}
FLAVORS = {
    "llama3": ("8B", "70B", "405B"),
    "qwen3": ("0.6B", "1.7B", "4B", "8B", "14B", "32B", "30B-A3B", "235B-A22B"),
    "deepseek_v3": ("16B", "236B", "671B"),
}
# CVS fetches these tokenizers if its config sets none.
TOKENIZERS = {
    "llama3_1_8b": "meta-llama/Llama-3.1-8B",
    "llama3_1_70b": "meta-llama/Llama-3.1-70B",
    "llama3_1_405b": "meta-llama/Llama-3.1-405B",
    "llama3_3_70b": "meta-llama/Llama-3.3-70B-Instruct",
    "deepseek_v3_16b": "deepseek-ai/DeepSeek-V3",
    "qwen3_32b": "Qwen/Qwen2.5-32B",
}


def model_of(name: str) -> str | None:
    """Return TorchTitan's name of a model, given its canonical name in CVS; None if TorchTitan has no such model."""
    return next((model for model, pattern in _NAMES.items() if pattern.match(name)), None)


def flavor_of(model: str, size: str) -> str | None:
    """Return a size as TorchTitan writes it; None if its model has no such size."""
    return next((flavor for flavor in FLAVORS[model] if canonical_model(flavor) == canonical_model(size)), None)


def size_in(name: str) -> str:
    """Return the size that a model's canonical name ends with, such as 0.6B of qwen3_0_6b."""
    flavors = FLAVORS.get(model_of(name) or "", ())
    return next((flavor for flavor in flavors if name.endswith(f"_{canonical_model(flavor)}")), name.rpartition("_")[2])
