# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of TorchTitan's models.

Source: torchtitan/models/{llama3,qwen3,deepseek_v3}/__init__.py of pytorch/torchtitan 0.2.2.
"""

from __future__ import annotations

import re

from ...job.architecture import KNOWN_MODELS, Architecture
from .reading import TorchTitanReading

_QWEN3 = {
    "0.6B": Architecture(28, 1024, 16, 8, 128, 3072, 151936, tied=True),
    "1.7B": Architecture(28, 2048, 16, 8, 128, 6144, 151936, tied=True),
    "4B": Architecture(36, 2560, 32, 8, 128, 9728, 151936, tied=True),
    "8B": Architecture(36, 4096, 32, 8, 128, 12288, 151936),
    "14B": Architecture(40, 5120, 40, 8, 128, 17408, 151936),
    "32B": Architecture(64, 5120, 64, 8, 128, 25600, 151936),
}
_MODELS = {
    "llama3": {
        "debugmodel": Architecture(6, 256, 16, 16, 16, 768, 2048),
        "8B": KNOWN_MODELS["llama3-8b"],
        "70B": KNOWN_MODELS["llama3-70b"],
        "405B": KNOWN_MODELS["llama3.1-405b"],
    },
    "qwen3": _QWEN3,
    "deepseek_v3": {
        "16B": KNOWN_MODELS["deepseek2-16b"],
        "236B": KNOWN_MODELS["deepseek2-236b"],
        "671B": KNOWN_MODELS["deepseek3-671b"],
    },
}
# How attention is computed changes no shape.
_ATTENTION = re.compile(r"_(flex|varlen)(_attn)?$")


def architecture_of(reading: TorchTitanReading) -> Architecture | str:
    """Return the shape of the model, or why it is unknown."""
    name, flavor = reading.get("model.name"), reading.get("model.flavor")
    known = _MODELS.get(name, {}).get(_ATTENTION.sub("", flavor or ""))
    return known or f"The dimensions of {name} {flavor} are not known."
