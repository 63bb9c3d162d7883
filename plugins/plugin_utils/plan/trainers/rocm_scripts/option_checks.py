# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of a training config that the chosen Megatron-LM script does not support or read."""

from __future__ import annotations

import typing as t

from ....text.words import key_path, listed
from ...config.model import variable_of
from ...formats.cvs1.checks import warn_unmounted
from ...formats.cvs1.megatron.config import PRECISIONS, MegatronModelParameters
from ...formats.cvs1.megatron.script_options import ScriptOptions
from ...job.container import is_mounted
from ...job.sizes import ModelDimensions, Sizes
from .environment import DEEPSEEK_NAMES, fetches_llama2_tokenizer
from .generations import DEEPSEEK, FIXED_CACHES, LLAMA2, LLAMA3, V25_5
from .reading import ScriptReading

# Without these it would be a different run than requested; the other options only affect speed.
_DECIDING = {"fsdp", "megatron_fsdp", "hsdp_replicas", "context_parallelism", "save_checkpoint_path"}
# The behaviour of a script that does not read them.
_OFF_WITHOUT_A_WORD: dict[str, t.Any] = {
    "fsdp": False,
    "recompute": False,
    "megatron_fsdp": False,
    "context_parallelism": 1,
}
_NEEDS_PRECISION = {
    "fp8": ("fp8_recipe", "fp8_param_gather", "fp8_transpose_cache"),
    "fp4": ("fp4_recipe", "fp4_param_gather", "fp4_selective_bf16", "fp4_bf16_start", "fp4_bf16_end"),
}
_VARIABLES, _CONNECTIONS = "config.container_config.env_dict", "CUDA_DEVICE_MAX_CONNECTIONS"
_NEED_ONE_CONNECTION = ("tensor_parallelism", "context_parallelism")
_NEEDS_CHECKPOINT_PATH = ("save_interval", "checkpoint_format")
# The number of layers that train_llama3.sh keeps in BF16 by default.
_BF16_LAYERS = {"fp4_bf16_start": 2, "fp4_bf16_end": 8}


def check_options(reading: ScriptReading, sizes: Sizes, dimensions: ModelDimensions | None) -> None:
    """Report options that the script does not read, and options that exclude each other."""
    _check_unread(reading)
    _check_output(reading)
    if reading.get("cross_entropy_loss_fusion") is False and reading.gives("cross_entropy_fusion_impl"):
        reading.warn_of_no_effect(
            "cross_entropy_fusion_impl", "cross_entropy_loss_fusion is off", "Turn that on, or leave it out."
        )
    _check_precision_options(reading)
    if reading.parameters.precision == "TE_FP4":
        _check_fp4_options(reading, dimensions)
    _check_fsdp_options(reading)
    _check_replicas(reading, sizes)
    _check_data(reading)
    _check_cache(reading)
    _check_checkpoints(reading)


def _check_unread(reading: ScriptReading) -> None:
    names = DEEPSEEK_NAMES if reading.known_script == DEEPSEEK else {}
    for key in dict.fromkeys((*ScriptOptions.model_fields, *_OFF_WITHOUT_A_WORD)):
        variable = variable_of(MegatronModelParameters.model_fields[key])
        variable = names.get(variable, variable)
        value = getattr(reading.parameters, key)
        as_it_is = value is None or value == _OFF_WITHOUT_A_WORD.get(key)
        if as_it_is or not variable or key == "tee_output" or reading.reads(variable):
            continue
        note = reading.fault if key in _DECIDING else reading.warn
        note(
            key,
            f"{key} has no effect: {reading.script} of generation {reading.generation} does not read {variable}.",
            "Leave it out, or set training_megatron_release to the release of the scripts.",
        )


def _check_output(reading: ScriptReading) -> None:
    if reading.parameters.tee_output is False:
        reading.fault(
            "tee_output",
            "Without tee_output the script prints no steps, so the run could not be followed or judged.",
            "Leave it out. The script's own log is in the run's folder as well.",
        )
    if reading.parameters.transformer_impl == "local":
        reading.fault(
            "transformer_impl",
            "No training script passes --transformer-impl local to Megatron-LM.",
            "Leave it out, or name your own script that does in config.training_scripts.",
        )


def _check_precision_options(reading: ScriptReading) -> None:
    asked = reading.parameters.precision
    if asked is None:
        return
    precision = PRECISIONS[asked]
    if precision == "fp4" and not reading.reads("TE_FP4"):
        reading.fault(
            "precision",
            f"{reading.script} of generation {reading.generation} cannot train in FP4: it would train in BF16.",
            "Set TE_FP8 or TE_BF16, or use an image of v26.1 or later and train Llama 3.",
        )
    for needed, names in _NEEDS_PRECISION.items():
        for key in filter(reading.gives, names):
            if precision != needed:
                reading.warn_of_no_effect(key, f"precision is {asked}", f"Set TE_{needed.upper()}, or leave it out.")


def _check_fp4_options(reading: ScriptReading, dimensions: ModelDimensions | None) -> None:
    """Report if no layer would be left for FP4, which Megatron-LM accepts (get_fp4_context in core/fp4_utils.py)."""
    is_mxfp4, selective = reading.get("fp4_recipe") == "mxfp4", reading.get("fp4_selective_bf16")
    if selective is False or (selective is None and is_mxfp4):
        for key in filter(reading.gives, _BF16_LAYERS):
            reason = "no layer stays in BF16 when fp4_selective_bf16 is off, which is MXFP4's default"
            reading.warn_of_no_effect(key, reason, "Set fp4_selective_bf16 to 1, or leave it out.")
    elif dimensions:
        given = [key for key in _BF16_LAYERS if reading.gives(key)]
        first, last = (reading.get(key) if key in given else own for key, own in _BF16_LAYERS.items())
        if first is not None and last is not None and first + last >= dimensions.layers:
            reading.findings.fault(
                reading.key(given[0] if given else "precision"),
                reading.branch.values[given[0]] if given else reading.parameters.precision,
                f"The first {first} and the last {last} layers stay in BF16, so none of the model's "
                f"{dimensions.layers} layers is left for FP4.",
                f"Reduce fp4_bf16_start and fp4_bf16_end so that their sum is less than {dimensions.layers}.",
            )
    fused = reading.parameters.gradient_accumulation_fusion is not False
    if is_mxfp4 and fused and reading.get("grad_reduce_in_bf16") is False:
        reading.warn_of_no_effect(
            "grad_reduce_in_bf16",
            "the script turns it on again for MXFP4",
            "Set gradient_accumulation_fusion to 0 as well, or leave it out.",
        )


def _check_fsdp_options(reading: ScriptReading) -> None:
    parameters = reading.parameters
    is_sharded = bool(parameters.fsdp or parameters.megatron_fsdp)
    if parameters.fsdp and parameters.megatron_fsdp:
        reading.fault(
            "megatron_fsdp",
            "fsdp and megatron_fsdp both shard the parameters, and Megatron-LM rejects the combination.",
            "Keep one of the two.",
        )
    if parameters.megatron_fsdp and (parameters.tensor_parallelism or 1) > 1:
        reading.fault(
            "tensor_parallelism",
            f"tensor_parallelism {parameters.tensor_parallelism} does not work with megatron_fsdp: the training "
            "script silently sets it to 1.",
            "Set tensor_parallelism to 1, or megatron_fsdp to 0.",
        )
    if reading.get("fp8_param_gather") and reading.get("optimizer") == "sgd" and not is_sharded:
        reading.fault(
            "fp8_param_gather",
            "Megatron-LM gathers parameters in FP8 only with its distributed optimizer, which the script disables "
            "with sgd or FSDP.",
            "Set optimizer to adam, or leave fp8_param_gather out.",
        )
    if parameters.fsdp and parameters.save_checkpoint_path and reading.get("checkpoint_format") != "torch_dist":
        reading.fault(
            "checkpoint_format",
            "With fsdp Megatron-LM saves checkpoints only as torch_dist, but the script's default is torch.",
            "Set checkpoint_format to torch_dist.",
        )
    _check_connections(reading, is_sharded=is_sharded)
    if parameters.fsdp and parameters.sequence_parallel:
        reading.warn_of_no_effect("sequence_parallel", "the script turns it off with fsdp", "Leave it out.")
    if is_sharded and parameters.gradient_accumulation_fusion:
        reading.warn_of_no_effect("gradient_accumulation_fusion", "the script turns it off with FSDP", "Leave it out.")


def _check_connections(reading: ScriptReading, *, is_sharded: bool) -> None:
    """Report a number of connections per device that Megatron-LM rejects: parallel layers need one, FSDP more than one.

    Source: validate_args in megatron/training/arguments.py, for FSDP since August 2025.
    """
    variables, key = reading.config.container_config.env_dict or {}, key_path(_VARIABLES, _CONNECTIONS)
    given = variables.get(_CONNECTIONS)
    parallel = [key for key in _NEED_ONE_CONNECTION if (getattr(reading.parameters, key) or 1) > 1]
    if given not in (None, "1") and parallel and not is_sharded:
        reading.findings.fault(
            key,
            given,
            f"With {listed(parallel)} Megatron-LM accepts only 1.",
            "Leave it out: the script sets 1.",
        )
    if is_sharded and given in (None, "1") and reading.generation == V25_5:
        reading.findings.note(
            "Megatron-LM since August 2025 rejects fsdp with 1 connection per device, which a script of generation "
            f"{V25_5} sets unless env_dict sets {_CONNECTIONS}, for example to 8."
        )


def _check_replicas(reading: ScriptReading, sizes: Sizes) -> None:
    data, replicas = sizes.data_parallelism, reading.parameters.hsdp_replicas
    if replicas is not None and (not reading.parameters.megatron_fsdp or replicas < 2):
        reading.fault(
            "hsdp_replicas",
            "The training script accepts replicas only with megatron_fsdp, and at least two.",
            "Set megatron_fsdp to 1 and hsdp_replicas to 2 or more, or leave hsdp_replicas out.",
        )
    elif replicas and data and data % replicas:
        reading.fault(
            "hsdp_replicas",
            f"The {data} data-parallel ranks cannot be divided into {replicas} groups.",
            f"Choose a divisor of {data}.",
        )


def _check_checkpoints(reading: ScriptReading) -> None:
    if not reading.gives("save_checkpoint_path"):
        for key in filter(reading.gives, _NEEDS_CHECKPOINT_PATH):
            reading.warn_of_no_effect(key, "save_checkpoint_path is not set", "Set that, or leave it out.")
    warn_unmounted(
        reading,
        "save_checkpoint_path",
        "the checkpoints are lost with the container",
        "Mount a folder that all nodes share, and choose a path in it.",
    )


def _check_data(reading: ScriptReading) -> None:
    config, findings = reading.config, reading.findings
    deepseek = reading.known_script == DEEPSEEK
    if config.mock_data is False and not deepseek and not reading.reads("DATA_PATH"):
        reading.fault(
            "config.mock_data",
            f"{reading.script} of generation {reading.generation} always trains on synthetic data.",
            "Set mock_data to True, or use an image of v25.4 or later.",
        )
    given = (config.container_config.env_dict or {}).get("DATA_PATH")
    if config.mock_data and given is not None and not deepseek:
        findings.fault(
            key_path(_VARIABLES, "DATA_PATH"),
            given,
            "mock_data is True, but newer scripts train on the dataset in DATA_PATH if it is set.",
            "Set mock_data to False and give data_path, or leave DATA_PATH out.",
        )
    if fetches_llama2_tokenizer(reading) and reading.gives("tokenizer_model"):
        reading.warn_of_no_effect(
            "tokenizer_model", "with Llama2Tokenizer the script fetches Llama 2's itself", "Leave it as it is."
        )


def _check_cache(reading: ScriptReading) -> None:
    """Report a cache that the nodes must share, at a path that the script hard-codes."""
    mounts = reading.config.container_config.volume_dict
    without_container = reading.options.container_engine == "none"
    fixed = FIXED_CACHES.get(reading.generation)
    if fixed and reading.nnodes > 1 and reading.known_script in (LLAMA2, LLAMA3):
        if without_container or mounts is None or is_mounted(fixed, mounts):
            return
        reading.warn(
            "config.data_cache_dir",
            f"data_cache_dir has no effect: {reading.script} of generation {reading.generation} uses the "
            f"hard-coded cache {fixed}, which no mount in volume_dict covers; the nodes must share it.",
            f"Mount a folder that all nodes share at {fixed}.",
        )
