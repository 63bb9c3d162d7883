# SPDX-License-Identifier: GPL-3.0-or-later
"""The training scripts of ROCm Megatron-LM: which one trains a model, and its built-in facts about the model.

Source: examples/llama/train_llama2.sh and train_llama3.sh and examples/deepseek_v2/train_deepseekv2.sh of
ROCm/Megatron-LM. AMD's guide to v25.4 spells the last one train_deepseek_v2.sh, which does not exist there.
"""

from __future__ import annotations

import posixpath

from ....text.words import counted, key_path, listed, nearest, shown
from ...config.field_types import is_found
from ...job.architecture import KNOWN_MODELS
from ...job.sizes import ModelDimensions
from .generations import (
    DEEPSEEK,
    LLAMA2,
    LLAMA3,
    SIZES,
    V24_12,
    V25_5,
    V26_1,
    generation_of,
    generation_of_image,
    known_script,
    returns_exit_status,
)
from .reading import BranchReading, Reading, ScriptReading

# DeepSeek's is hard-coded to DeepSeek-V2-Lite, whatever MODEL_SIZE says.
_FAMILIES = {LLAMA3: "llama3", LLAMA2: "llama2", DEEPSEEK: "deepseek2"}
_BY_MODEL = {r"llama[-_. ]?3": LLAMA3, r"llama[-_. ]?2": LLAMA2, r"deepseek[-_. ]?v?2": DEEPSEEK}
# ROCm/Megatron-LM at 02b8aa76 takes any TOKENIZER_MODEL as a folder, and fetches these files if it is missing.
_FETCHED = "meta-llama/Llama-3.1-8B"
# Scripts of ROCm/Megatron-LM (at 015290ee, 0874a334 and 07c55f77) with other variables than the Llama scripts.
_OTHER_VARIABLES = {
    "train_deepseekv3.sh": "TRAIN_ITERS and GLOBAL_BATCH_SIZE",
    "train_qwen3.sh": "TRAIN_ITERS and GLOBAL_BATCH_SIZE",
    "train_mixtral_moe.sh": "TRAIN_ITERS and GBS",
}
_OWN_DIMENSIONS = ("num_layers", "num_attention_heads", "num_query_groups")


def script_of(reading: BranchReading) -> str | None:
    """Return the training script, relative to megatron_root, or None with a fault.

    ``training_scripts`` takes precedence, as in CVS: the first pattern found in tokenizer_model. Without one the
    model's name decides.
    """
    scripts, tokenizer = reading.config.training_scripts, reading.parameters.tokenizer_model
    for pattern, named in (scripts or {}).items():
        if tokenizer is not None and is_found(pattern, tokenizer):
            _check_script(named, key_path("config.training_scripts", pattern), reading)
            return named
    script = next((script for name, script in _BY_MODEL.items() if is_found(name, reading.branch.model)), None)
    if scripts is None or tokenizer is None:
        return script
    if script is None:
        reading.findings.fault(
            "config.training_scripts",
            scripts or None,
            f"No training script is known for the model {reading.branch.model}.",
            f'Set one for a pattern that matches tokenizer_model ({tokenizer}), for example {{"llama-3": "{LLAMA3}"}}.',
        )
    elif scripts:
        reading.warn(
            "config.training_scripts",
            f"It has no effect, because none of its patterns matches tokenizer_model ({tokenizer}): {script} trains "
            f"{reading.branch.model}.",
            "Give a pattern that matches, or leave it out.",
        )
    return script


def _check_script(script: str, key: str, reading: BranchReading) -> None:
    other = _OTHER_VARIABLES.get(posixpath.basename(script))
    if other:
        reading.findings.fault(
            key,
            script,
            f"{script} takes steps and batch size from {other}, which a plan does not set: it would train with its "
            "defaults.",
            "Name a wrapper script of your own that sets them from TOTAL_ITERS, BS, MBS and SEQ_LENGTH, and runs it.",
        )
    elif known_script(script) is None:
        near = nearest(posixpath.basename(script), [posixpath.basename(DEEPSEEK)])
        reading.findings.warn(
            key,
            script,
            f"{script} is not a known script: it gets the variables of {posixpath.basename(LLAMA3)}, and may read "
            "others.",
            f"Did you mean {DEEPSEEK}?"
            if near
            else "Check that it takes its settings from these variables, or from KEY=VALUE arguments.",
        )


def generation_for(reading: Reading) -> str:
    """Return the generation of the run's scripts, from the given release or the image's tag.

    If neither says, the newest one is assumed.
    """
    asked = generation_of(reading.options.training_megatron_release or "")
    return asked or generation_of_image(_image_of(reading)) or V26_1


def note_generation(reading: BranchReading, script: str, generation: str) -> None:
    """Note the assumed generation of the script, its source, and surprising behaviour."""
    release, image = reading.options.training_megatron_release, _image_of(reading)
    if release:
        source = f"as set in training_megatron_release ({release})"
    elif generation_of_image(image):
        source = f"as the tag of {image} says"
    else:
        reason = f"the tag of {image} does not say which" if image else "no image tag says which"
        source = f"assumed because {reason}; set training_megatron_release to change it"
    note = f"{script} is treated as generation {generation}, {source}."
    if returns_exit_status(script, generation) is False:
        note += " It exits with status 0 even when the training failed, so only its log shows a failure."
    tokenizer = reading.parameters.tokenizer_model or _FETCHED
    fetched = tokenizer != _FETCHED and not tokenizer.startswith("/")
    if known_script(script) == LLAMA3 and generation == V25_5 and fetched:
        note += (
            f" If its checkout has no folder {tokenizer}, the script of mid-2025 fetches the tokenizer of "
            f"{_FETCHED} instead; the token needs access to that."
        )
    reading.findings.note(note)


def is_hub_name(tokenizer: str | None) -> bool:
    """Return whether a tokenizer is a name on the Hugging Face hub rather than a path."""
    return tokenizer is not None and "/" in tokenizer and not tokenizer.startswith("/")


def _image_of(reading: Reading) -> str | None:
    return None if reading.options.container_engine == "none" else reading.config.container_image


def dimensions_of(reading: ScriptReading) -> ModelDimensions | None:
    """Return the model's dimensions: the script's for its size, or else the config's own.

    The released scripts reject unknown sizes, whatever the config says. The user's own script or checkout may know
    others.
    """
    script, parameters = reading.known_script, reading.parameters
    known = SIZES[script][reading.generation] if script else ()
    if script and parameters.model_size in known:
        model = KNOWN_MODELS[f"{family_of(reading)}-{parameters.model_size}b"]
        dimensions = ModelDimensions(model.layers, model.attention_heads, model.query_groups)
        _warn_of_own_dimensions(reading, dimensions)
        return dimensions
    own_checkout = bool(reading.options.training_megatron_root)
    own_dimensions = reading.gives("num_layers") and reading.gives("num_attention_heads")
    if script and parameters.model_size is not None and not (own_checkout and own_dimensions):
        reading.fault(
            "model_size",
            f"{reading.script} of generation {reading.generation} does not know model size "
            f"{shown(parameters.model_size)}.",
            f"It knows {listed(known)}. "
            + (
                "For another size in your checkout, set num_layers and num_attention_heads as well."
                if own_checkout
                else "If your own checkout knows more, set training_megatron_root to it, and num_layers and "
                "num_attention_heads as well."
            ),
        )
    return _own_dimensions(reading)


def family_of(reading: ScriptReading) -> str | None:
    """Return the model family whose sizes the script knows, or None for an unknown script."""
    # Until January 2025 its Llama 2 7B had the shape of Mistral 7B.
    if reading.known_script == LLAMA2 and reading.generation == V24_12 and reading.parameters.model_size == "7":
        return "mistral"
    return _FAMILIES.get(reading.known_script or "")


def _own_dimensions(reading: ScriptReading) -> ModelDimensions | None:
    parameters = reading.parameters
    layers, heads, groups = parameters.num_layers, parameters.num_attention_heads, parameters.num_query_groups
    if not layers or not heads or (groups is None and reading.gives("num_query_groups")):
        return None
    return ModelDimensions(layers, heads, groups or heads)


def _warn_of_own_dimensions(reading: ScriptReading, dimensions: ModelDimensions) -> None:
    reason = (
        f"for size {reading.parameters.model_size} the training script has {counted(dimensions.layers, 'layer')}, "
        f"{counted(dimensions.attention_heads, 'attention head')} and {counted(dimensions.query_groups, 'query group')}"
    )
    for name in filter(reading.gives, _OWN_DIMENSIONS):
        reading.warn_of_no_effect(name, reason, "Leave it out.")
