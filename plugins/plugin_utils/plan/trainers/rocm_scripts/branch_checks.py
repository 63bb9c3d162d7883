# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a branch of a training config for Megatron-LM, once every value is typed."""

from __future__ import annotations

import re

from ...formats.cvs1.megatron.config import PRECISIONS
from ...job.peaks import accelerator_of
from ...job.sizes import ModelDimensions, Sizes, check_sizes, for_nodes_at_hand, warn_of_short_sequences
from .generations import DEEPSEEK, LLAMA2, LONGEST_SEQUENCES, V25_5
from .reading import ScriptReading
from .scripts import dimensions_of, is_hub_name
from .user_variables import is_on

_FP8_TOKENS = 8
# The tokenizer of scripts that do not read TOKENIZER_MODEL, by (is of v25.5, is for Llama 2).
_FIXED_TOKENIZERS = {
    (True, True): (
        "the folder tokenizer_llama2 of its data folder",
        "Put the tokenizer there (DATA_DIR, else /root/.cache/data in the container).",
    ),
    (False, True): ("experiment/tokenizer.model of its checkout", "The script fetches it if it is missing."),
    (False, False): ("meta-llama/Llama-3.1-8B", "Set that, and give hf_token_file: access to it is restricted."),
}


def check_branch(reading: ScriptReading) -> tuple[Sizes, ModelDimensions | None]:
    """Report errors in the branch, and return the sizes of one job and the model's dimensions, if known."""
    parameters = reading.parameters
    if parameters.fsdp:
        _check_fsdp(reading)
    _check_precision(reading)
    _check_tokenizer(reading)
    _check_name(reading)
    sizes = Sizes(
        nodes=reading.nnodes or None,
        gpus_per_node=reading.options.training_gpus_per_node,
        tensor_parallelism=parameters.tensor_parallelism,
        pipeline_parallelism=parameters.pipeline_parallelism,
        context_parallelism=parameters.context_parallelism if reading.gives("context_parallelism") else 1,
        global_batch_size=parameters.batch_size,
        micro_batch_size=parameters.micro_batch_size,
        sequence_length=parameters.sequence_length,
        sequence_parallel=_sequence_parallel(reading),
    )
    same = ("sequence_length", "tensor_parallelism", "pipeline_parallelism", "context_parallelism")
    keys = {"global_batch_size": reading.key("batch_size"), **{name: reading.key(name) for name in same}}
    sizes = for_nodes_at_hand(sizes, keys["global_batch_size"], reading.config.nnodes, "config.nnodes", reading)
    _check_length(reading)
    if accelerator_of(reading.branch.gpu):
        warn_of_short_sequences(reading.parameters.sequence_length, reading.key("sequence_length"), reading.findings)
    _check_fp8_tokens(reading, sizes)
    dimensions = dimensions_of(reading)
    check_sizes(sizes, dimensions, keys, reading.findings)
    return sizes, dimensions


def _check_fp8_tokens(reading: ScriptReading, sizes: Sizes) -> None:
    """Warn of tokens that Transformer Engine cannot multiply in FP8 (``assert_dim_for_fp8_exec``)."""
    length, micro, tensor = sizes.sequence_length, sizes.micro_batch_size, sizes.tensor_parallelism
    tokens = (length or 0) * (micro or 0) // (sizes.context_parallelism or 1) // (tensor or 1)
    precision = reading.parameters.precision
    if precision and PRECISIONS[precision] == "fp8" and tokens and tokens % _FP8_TOKENS:
        reading.warn(
            "sequence_length",
            f"In FP8 a GPU has {tokens} tokens at once, but Transformer Engine multiplies only multiples of "
            f"{_FP8_TOKENS}.",
            "Choose a sequence length that is a power of 2, such as 8192.",
        )


def _sequence_parallel(reading: ScriptReading) -> bool | None:
    """Return whether the branch, or else a variable of the user, switches sequence parallelism on; None for neither."""
    value = (reading.config.container_config.env_dict or {}).get("SEQ_PARALLEL")
    if reading.gives("sequence_parallel") or value is None or not reading.reads("SEQ_PARALLEL"):
        return reading.parameters.sequence_parallel
    return is_on("SEQ_PARALLEL", value)


def _check_length(reading: ScriptReading) -> None:
    longest = LONGEST_SEQUENCES.get(reading.known_script or "", {}).get(reading.generation)
    length = reading.parameters.sequence_length
    if longest and length and length > longest:
        reading.fault(
            "sequence_length",
            f"{reading.script} of generation {reading.generation} supports {longest} positions, and Megatron-LM "
            "rejects longer sequences.",
            f"Choose {longest} or less.",
        )


def _check_fsdp(reading: ScriptReading) -> None:
    reasons = {
        "tensor_parallelism": "the training script silently sets it to 1",
        "pipeline_parallelism": "PyTorch's FSDP2 has no pipeline stages",
    }
    for key, reason in reasons.items():
        value = getattr(reading.parameters, key)
        if value and value > 1:
            reading.fault(key, f"{key} {value} does not work with fsdp: {reason}.", f"Set {key} to 1, or fsdp to 0.")


def _check_precision(reading: ScriptReading) -> None:
    asked, script = reading.parameters.precision, reading.script
    if asked and PRECISIONS[asked] == "fp16" and reading.known_script != DEEPSEEK:
        reading.warn(
            "precision",
            f"{script or 'The training script'} cannot train in FP16, and will train in BF16 "
            f"(TE_FP8=0){'; CVS trains TE_FP16 in FP8 (TE_FP8=1)' if asked == 'TE_FP16' else ''}.",
            "Set TE_BF16 if you want that, or TE_FP8.",
        )


def _check_tokenizer(reading: ScriptReading) -> None:
    tokenizer, script = reading.parameters.tokenizer_model, reading.script
    # DeepSeek's script has a hard-coded tokenizer, which is checked with the rest of it.
    if tokenizer is None or script is None or reading.known_script == DEEPSEEK:
        return
    if not reading.reads("TOKENIZER_MODEL"):
        place, remedy = _FIXED_TOKENIZERS[reading.generation == V25_5, reading.known_script == LLAMA2]
        if tokenizer != place:
            reading.warn("tokenizer_model", f"tokenizer_model has no effect: {script} uses {place}.", remedy)
    elif is_hub_name(tokenizer) and not (reading.is_given("hf_token_file") or reading.options.training_hf_token_file):
        reading.warn(
            "tokenizer_model",
            f"{tokenizer} is a name on the Hugging Face hub, but no token to fetch it is given.",
            "Give hf_token_file, or the absolute path of an existing tokenizer.",
        )


def _check_name(reading: ScriptReading) -> None:
    size = reading.parameters.model_size
    named = re.search(r"(?:^|[^0-9a-z.])([0-9]+)b(?![0-9a-z])", reading.branch.model.casefold())
    if size is not None and named and named.group(1) != size:
        reading.warn(
            "model_size",
            f"The model is named {reading.branch.model}, but its size is {size}.",
            f"Check whether {named.group(1)} is meant.",
        )
