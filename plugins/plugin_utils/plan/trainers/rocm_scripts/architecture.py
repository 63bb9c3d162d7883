# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of the model that Megatron-LM trains, as set in its scripts.

Source: examples/llama/train_llama2.sh and train_llama3.sh, and examples/deepseek_v2/train_deepseekv2.sh, of
ROCm/Megatron-LM; ``_vocab_size_with_padding`` in
megatron/training/tokenizer/tokenizer.py for the vocabulary.
"""

from __future__ import annotations

import dataclasses

from ...job.architecture import KNOWN_MODELS, Architecture, known_model
from .reading import ScriptReading
from .scripts import family_of

# --make-vocab-size-divisible-by, which the scripts do not change.
_VOCABULARY_DIVISIBLE_BY = 128


def architecture_of(reading: ScriptReading, script: str, tensor_parallelism: int) -> Architecture | str:
    """Return the shape of the model, with the vocabulary padded for tensor parallelism, or why it is unknown."""
    family, size, layers = family_of(reading), reading.parameters.model_size, reading.parameters.num_layers
    named = f"{family}-{size}b" if family else reading.branch.model
    model = known_model(named)
    if model is None:
        what = f"a model of size {size} of {script}" if family else f"the model {named}"
        return f"The dimensions of {what} are not known."
    shape = KNOWN_MODELS[model]
    if not family and layers not in (None, shape.layers):
        return f"The dimensions of the model {named} with {layers} layers are not known."
    unit = _VOCABULARY_DIVISIBLE_BY * tensor_parallelism
    return dataclasses.replace(shape, vocabulary_size=-(-shape.vocabulary_size // unit) * unit)
