# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of the model that MaxText trains: from its preset, or from the keys if it has none."""

from __future__ import annotations

import dataclasses

from ...formats.cvs1.maxtext.models import DIMENSIONS, WITHOUT_PRESET
from ...job.architecture import KNOWN_MODELS, Architecture, known_model
from .reading import BranchReading, model_of

# Source: src/maxtext/configs/base.yml.
_DEFAULT = Architecture(16, 2048, 16, 16, 128, 7168, 32000)
_MIXTURE, _SCALE = "num_experts", "global_parameter_scale"


def architecture_of(reading: BranchReading) -> Architecture | str:
    """Return the shape of the model, or why it is unknown."""
    if reading.branch.values.get(_SCALE) not in (None, 1, "1"):
        return f"The dimensions of a model scaled by {_SCALE} are not known."
    if model_of(reading) != WITHOUT_PRESET:
        model = known_model(model_of(reading))
        return KNOWN_MODELS[model] if model else f"The dimensions of the model {model_of(reading)} are not known."
    if reading.branch.values.get(_MIXTURE) not in (None, 1, "1"):
        return "The dimensions of a mixture of experts without a preset are not known."
    parameters = reading.parameters
    given = {name: size for key, name in DIMENSIONS.items() if (size := getattr(parameters, key))}
    gated = len(parameters.mlp_activations or ("silu", "linear")) > 1
    return dataclasses.replace(_DEFAULT, **given, gated=gated, tied=bool(reading.get("logits_via_embedding")))
