# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The training scripts of ROCm Megatron-LM: which one trains a model, and what it knows about it.

Source: examples/llama/train_llama2.sh and train_llama3.sh of ROCm/Megatron-LM.
"""

from __future__ import annotations

import posixpath
import re
import typing as t

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._sizes import ModelDimensions
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._words import counted, key_path, listed, shown

if t.TYPE_CHECKING:
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._megatron_reading import (
        BranchReading,
    )

LLAMA3 = "examples/llama/train_llama3.sh"
LLAMA2 = "examples/llama/train_llama2.sh"

# Sizes that each script knows ("Model size not supported." otherwise), with the dimensions it gives them.
_DIMENSIONS = {
    posixpath.basename(LLAMA3): {
        "8": ModelDimensions(layers=32, attention_heads=32, query_groups=8),
        "70": ModelDimensions(layers=80, attention_heads=64, query_groups=8),
    },
    posixpath.basename(LLAMA2): {
        "7": ModelDimensions(layers=32, attention_heads=32, query_groups=32),
        "13": ModelDimensions(layers=40, attention_heads=40, query_groups=40),
        "70": ModelDimensions(layers=80, attention_heads=64, query_groups=8),
    },
}
_BY_MODEL = {r"llama[-_. ]?3": LLAMA3, r"llama[-_. ]?2": LLAMA2}
_OWN_DIMENSIONS = ("num_layers", "num_attention_heads", "num_query_groups")


def script_of(reading: BranchReading) -> str | None:
    """Return the training script, relative to megatron_root, or None with a fault.

    ``training_scripts`` goes first, as in CVS: the first pattern that is found in tokenizer_model. Without one the
    model's name decides.
    """
    scripts, tokenizer = reading.config.training_scripts, reading.parameters.tokenizer_model
    for pattern, named in (scripts or {}).items():
        if tokenizer is not None and _found(pattern, tokenizer):
            _check_script(named, key_path("config.training_scripts", pattern), reading)
            return named
    script = next((script for name, script in _BY_MODEL.items() if _found(name, reading.branch.model)), None)
    if scripts is None or tokenizer is None:
        return script
    if script is None:
        reading.findings.fault(
            "config.training_scripts",
            scripts or None,
            f"No training script is known for the model {reading.branch.model}.",
            f'Name one by a pattern of tokenizer_model ({tokenizer}), for example {{"llama-3": "{LLAMA3}"}}.',
        )
    elif scripts:
        reading.findings.warn(
            "config.training_scripts",
            scripts,
            f"It has no effect, as none of its patterns is found in tokenizer_model ({tokenizer}): {script} trains "
            f"{reading.branch.model}.",
            "Give a pattern that is found there, or leave it out.",
        )
    return script


def _found(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def _check_script(script: str, key: str, reading: BranchReading) -> None:
    if posixpath.basename(script) not in _DIMENSIONS:
        reading.findings.warn(
            key,
            script,
            f"Nothing is known about {script}: it gets what {listed(_DIMENSIONS)} read, and may read something else.",
            "See that it takes its settings from these variables, or from KEY=VALUE arguments.",
        )


def reads_tokenizer_model(script: str) -> bool:
    """Tell whether a script reads TOKENIZER_MODEL; train_llama2.sh has a path of its own."""
    return posixpath.basename(script) != posixpath.basename(LLAMA2)


def dimensions_of(reading: BranchReading, script: str | None) -> ModelDimensions | None:
    """Return the model's dimensions: the script's, or the config's for a size that the script does not know."""
    parameters = reading.parameters
    known = _DIMENSIONS.get(posixpath.basename(script or ""))
    if known and parameters.model_size in known:
        dimensions = known[parameters.model_size]
        _warn_of_own_dimensions(reading, dimensions)
        return dimensions
    if known and parameters.model_size is not None and not _gives_own_dimensions(reading):
        reading.findings.fault(
            reading.key("model_size"),
            parameters.model_size,
            f"{script} knows no model of size {shown(parameters.model_size)}.",
            f"It knows {listed(known)}. For another size give num_layers and num_attention_heads as well.",
        )
    return _own_dimensions(reading)


def _own_dimensions(reading: BranchReading) -> ModelDimensions | None:
    parameters = reading.parameters
    layers, heads, groups = parameters.num_layers, parameters.num_attention_heads, parameters.num_query_groups
    if not layers or not heads or (groups is None and reading.gives("num_query_groups")):
        return None
    return ModelDimensions(layers, heads, groups or heads)


def _gives_own_dimensions(reading: BranchReading) -> bool:
    """Tell whether the config has dimensions of its own, be they right or wrong."""
    return reading.gives("num_layers") and reading.gives("num_attention_heads")


def _warn_of_own_dimensions(reading: BranchReading, dimensions: ModelDimensions) -> None:
    for name in _OWN_DIMENSIONS:
        if reading.gives(name):
            reading.findings.warn(
                reading.key(name),
                reading.branch.values[name],
                f"{name} has no effect: for size {reading.parameters.model_size} the training script has "
                f"{counted(dimensions.layers, 'layer')}, {counted(dimensions.attention_heads, 'attention head')} and "
                f"{counted(dimensions.query_groups, 'query group')}.",
                "Leave it out.",
            )
