# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of the model that MaxText trains: that of its preset, or of the keys where there is none."""

from __future__ import annotations

from ...job.architecture import Architecture
from ...job.known_models import KNOWN_MODELS, known_model
from .models import WITHOUT_PRESET
from .reading import BranchReading, model_of

# Source: src/maxtext/configs/base.yml.
_DEFAULTS = {
    "base_emb_dim": 2048,
    "base_num_query_heads": 16,
    "base_num_kv_heads": 16,
    "base_num_decoder_layers": 16,
    "base_mlp_dim": 7168,
    "head_dim": 128,
    "vocab_size": 32000,
}
_MIXTURE, _SCALE = "num_experts", "global_parameter_scale"


def architecture_of(reading: BranchReading) -> Architecture | str:
    """Return the shape of the model, or why it is not known."""
    if reading.branch.values.get(_SCALE) not in (None, 1, "1"):
        return f"The dimensions of a model that {_SCALE} makes larger are not known."
    if model_of(reading) != WITHOUT_PRESET:
        model = known_model(model_of(reading))
        return KNOWN_MODELS[model] if model else f"The dimensions of the model {model_of(reading)} are not known."
    if reading.branch.values.get(_MIXTURE) not in (None, 1, "1"):
        return "The dimensions of a mixture of experts without a preset are not known."
    parameters = reading.parameters
    size = {key: getattr(parameters, key) or default for key, default in _DEFAULTS.items()}
    return Architecture(
        layers=size["base_num_decoder_layers"],
        hidden_size=size["base_emb_dim"],
        attention_heads=size["base_num_query_heads"],
        query_groups=size["base_num_kv_heads"],
        head_size=size["head_dim"],
        feed_forward_size=size["base_mlp_dim"],
        vocabulary_size=size["vocab_size"],
        gated=len(parameters.mlp_activations or ("silu", "linear")) > 1,
    )
