# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment of a Megatron-LM training script: the training config as the script's variables."""

from __future__ import annotations

import posixpath
import typing as t
from collections.abc import Callable

from .....module_utils.node.contracts import Dataset
from ...config.kinds import AUTO
from ...config.model import variable_of
from ...formats.cvs1.megatron.config import PRECISIONS
from ...formats.cvs1.megatron.dataset import DEEPSEEK_RESULT
from ...formats.cvs1.megatron.script_options import ScriptOptions
from ...job.sizes import Sizes
from .generations import DEEPSEEK, LLAMA2, READ
from .reading import ScriptReading

MASTER_PORT = 6000
# Variables that train_deepseekv2.sh names differently from the Llama scripts.
DEEPSEEK_NAMES = {"BS": "GBS", "SEQ_LENGTH": "SEQ_LEN", "TOTAL_ITERS": "TRAIN_ITERS", "TE_FP8": "PR", "RECOMPUTE": "AC"}
# Which images read MOCK_DATA is not certain, and those that do must not train on synthetic data unasked.
_IN_ANY_CASE = {"MOCK_DATA"}
_OF_SCRIPTS = {name for by_generation in READ.values() for names in by_generation.values() for name in names}


def environment_of(reading: ScriptReading, sizes: Sizes, master: str, dataset: Dataset | None) -> dict[str, str]:
    """Return the variables that the script reads and that are the same on every node.

    Scripts of 2026 train on synthetic data exactly if DATA_PATH is not set, scripts of early 2025 always, and scripts
    in between if MOCK_DATA is 1.
    """
    of_script = _of_deepseek if reading.known_script == DEEPSEEK else _of_llama
    environment = of_script(reading, sizes, master, dataset)
    environment["NCCL_DEBUG"] = reading.config.nccl_debug
    return {name: str(value) for name, value in environment.items() if value is not None and _given(name, reading)}


def _given(variable: str, reading: ScriptReading) -> bool:
    return variable not in _OF_SCRIPTS or variable in _IN_ANY_CASE or reading.reads(variable)


def _of_llama(reading: ScriptReading, sizes: Sizes, master: str, dataset: Dataset | None) -> dict[str, t.Any]:
    config, parameters = reading.config, reading.parameters
    precision = PRECISIONS[parameters.precision]
    environment: dict[str, t.Any] = {
        "MASTER_ADDR": master,
        "MASTER_PORT": reading.options.training_master_port or MASTER_PORT,
        "NNODES": reading.nnodes,
        "MODEL_SIZE": parameters.model_size,
        "TOTAL_ITERS": config.training_iterations,
        "MBS": parameters.micro_batch_size,
        "BS": sizes.global_batch_size,
        "SEQ_LENGTH": parameters.sequence_length,
        "TP": parameters.tensor_parallelism,
        "PP": parameters.pipeline_parallelism,
        "TE_FP8": int(precision == "fp8"),
        "TE_FP4": 1 if precision == "fp4" else None,
        "FSDP": int(parameters.fsdp),
        "RECOMPUTE": int(parameters.recompute),
        **_options(reading),
        "ENABLE_HSDP": 1 if parameters.hsdp_replicas else None,
        "MOCK_DATA": int(config.mock_data),
        "DATA_PATH": dataset["prefix"] if dataset else None if config.mock_data else config.data_path,
        "DATA_DIR": dataset["folder"] if dataset else None,
        "DATA_CACHE_PATH": config.data_cache_dir,
        # train_llama2.sh then fetches Llama 2's itself, and exits if another one is set.
        "TOKENIZER_MODEL": None if fetches_llama2_tokenizer(reading) else parameters.tokenizer_model,
        "TEE_OUTPUT": 1,
    }
    if reading.multi_node:
        environment |= {
            "NCCL_IB_HCA": _comma_separated(config.nccl_ib_hca_list or config.nccl_ib_hca),
            "NCCL_IB_GID_INDEX": None if config.nccl_ib_gid_index == AUTO else config.nccl_ib_gid_index,
            "NCCL_SOCKET_IFNAME": _comma_separated(config.nccl_socket_ifname),
            "GLOO_SOCKET_IFNAME": _comma_separated(config.gloo_socket_ifname),
        }
    return environment


def _of_deepseek(reading: ScriptReading, sizes: Sizes, _master: str, dataset: Dataset | None) -> dict[str, t.Any]:
    """Return the same for train_deepseekv2.sh, whose nodes, GPUs and parallelism are hard-coded."""
    config, parameters = reading.config, reading.parameters
    return {
        "TRAIN_ITERS": config.training_iterations,
        "MBS": parameters.micro_batch_size,
        "GBS": sizes.global_batch_size,
        "SEQ_LEN": parameters.sequence_length,
        **_options(reading),
        "PAD_LEN": parameters.padding_length or parameters.sequence_length,
        "PR": PRECISIONS[parameters.precision],
        "AC": checkpointing_of(reading),
        "MOCK_DATA": int(config.mock_data),
        "DATA_DIR": None if config.mock_data else deepseek_data_dir(reading, dataset),
        "DATA_CACHE_PATH": config.data_cache_dir,
    }


def _options(reading: ScriptReading) -> dict[str, t.Any]:
    """Return the options set in the config, by variable."""
    given: dict[str, t.Any] = {}
    for name, field in ScriptOptions.model_fields.items():
        value, variable = getattr(reading.parameters, name), variable_of(field)
        if value is not None and variable:
            as_text = _AS_TEXT.get(name, int) if isinstance(value, bool) else str
            given[variable] = as_text(value)
    return given


# Flags are 0 and 1 except for these.
_AS_TEXT: dict[str, Callable[[bool], t.Any]] = {"moe_legacy_grouped_gemm": lambda flag: "true" if flag else "false"}


def checkpointing_of(reading: ScriptReading) -> str:
    """Return which activations DeepSeek's script recomputes: none, sel or full."""
    parameters = reading.parameters
    if parameters.activation_checkpointing:
        return str(parameters.activation_checkpointing)
    if not reading.gives("recompute"):
        return "sel"
    return "full" if parameters.recompute else "none"


def deepseek_data_dir(reading: ScriptReading, dataset: Dataset | None) -> str | None:
    """Return the folder of DeepSeek's dataset, or None if the config sets none that its script could find."""
    if dataset:
        return str(dataset["folder"])
    folder, name = posixpath.split(reading.config.data_path or "")
    return folder if name == DEEPSEEK_RESULT else None


def fetches_llama2_tokenizer(reading: ScriptReading) -> bool:
    """Return whether the script is train_llama2.sh and fetches the file of Llama2Tokenizer itself."""
    return reading.known_script == LLAMA2 and reading.parameters.tokenizer_type == "Llama2Tokenizer"


def _comma_separated(names: list[str] | None) -> str | None:
    return ",".join(names) if names else None
