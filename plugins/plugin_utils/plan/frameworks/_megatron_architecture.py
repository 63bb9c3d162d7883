# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of the model that Megatron-LM trains, as its scripts give it.

Source: examples/llama/train_llama2.sh and train_llama3.sh, and examples/deepseek_v2/train_deepseekv2.sh, of
ROCm/Megatron-LM; ``_vocab_size_with_padding`` in
megatron/training/tokenizer/tokenizer.py for the vocabulary.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._architecture import Architecture
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._known_models import KNOWN_MODELS, known_model
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._megatron_generations import (
    DEEPSEEK,
    LLAMA2,
    LLAMA3,
    known_script,
)

if t.TYPE_CHECKING:
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._megatron_reading import (
        BranchReading,
    )

_FAMILIES = {LLAMA3: "llama3", LLAMA2: "llama2", DEEPSEEK: "deepseek2"}
# --make-vocab-size-divisible-by, which the scripts leave as it is.
_VOCABULARY_DIVISIBLE_BY = 128


def architecture_of(reading: BranchReading, script: str, tensor_parallelism: int) -> Architecture | str:
    """Return the shape of the model, its vocabulary padded for the tensor parallelism, or why it is not known."""
    family = _FAMILIES.get(known_script(script) or "")
    size = reading.parameters.model_size
    named = f"{family}-{size}b" if family else reading.branch.model
    model = known_model(named)
    if model is None:
        what = f"a model of size {size} of {script}" if family else f"the model {named}"
        return f"The dimensions of {what} are not known."
    shape = KNOWN_MODELS[model]
    unit = _VOCABULARY_DIVISIBLE_BY * tensor_parallelism
    return dataclasses.replace(shape, vocabulary_size=-(-shape.vocabulary_size // unit) * unit)
