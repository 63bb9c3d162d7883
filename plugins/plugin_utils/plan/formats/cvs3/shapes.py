# SPDX-License-Identifier: GPL-3.0-or-later
"""Where files with ``train_params`` have the keys of CVS's first format, by purpose."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import replace

from ...config.kinds import AUTO
from ...job.job import MODES
from ...job.options import ConfigOptions
from ..cvs1.maxtext.dialect import DIALECT as OF_MAXTEXT
from ..cvs1.megatron.dialect import DIALECT as OF_MEGATRON
from ..cvs1.megatron.dialect import PRIMUS
from ..cvs1.torchtitan.dialect import DIALECT as OF_TORCHTITAN
from ..cvs2.shapes import CHECKOUT, PRECISION_WORDS, megatrons_rows, of_titans_model, read_precision, titans_rows
from ..cvs_translation import CONTAINER, Shape, value_at
from .config import MaxTextFile, MegatronFile

_PATHS = {
    "paths.log_dir": "config.log_dir",
    "paths.hf_token_file": "config.hf_token_file",
    "paths.scripts_dir": "config.scripts_dir",
    "paths.rocm_dir": "config.rocm_dir",
    "verify_network_errors": "config.verify_network_errors",
}
_VARIABLES = {
    "container.env.MASTER_ADDR": "config.master_address",
    "container.env.NNODES": "config.nnodes",
    "container.env.NCCL_IB_HCA": "config.nccl_ib_hca_list",
    "container.env.NCCL_SOCKET_IFNAME": "config.nccl_socket_ifname",
    "container.env.GLOO_SOCKET_IFNAME": "config.gloo_socket_ifname",
    "container.env.NCCL_IB_GID_INDEX": "config.nccl_ib_gid_index",
    "container.env.NCCL_DEBUG": "config.nccl_debug",
    "container.env.*": "config.container_config.env_dict.*",
}
_CONTAINER = {origin: target for origin, target in CONTAINER.items() if origin != "container.env"}
# FP8 of CDNA 3 has a format of its own.
_OF_CDNA4 = re.compile(r"mi35", re.IGNORECASE)


def _mode(data: Mapping[str, t.Any], options: ConfigOptions, node_count: int) -> str:
    """Return the mode of the run: the one that is asked for, else by the number of nodes of the file, or of the run."""
    if options.training_mode in MODES:
        return options.training_mode
    named = value_at(data, "container.env.NNODES")
    return "single_node" if str(node_count if named in (None, AUTO) else named) == "1" else "multi_node"


def _sizes_in(name: str) -> dict[str, str]:
    """Return the sizes in the name of a cell, by their names there: ``MBS=1,GBS=64,PRECISION=FP8``."""
    pairs = (part.strip().partition("=") for part in name.split(","))
    return {key.upper(): value for key, equals, value in pairs if equals}


def _of_name(name: str, _data: t.Any) -> dict[str, t.Any]:
    """Return the sizes in the name of a cell, under the keys that CVS sets."""
    keys = {"MBS": "micro_batch_size", "GBS": "global_batch_size", "PRECISION": "precision"}
    return {keys[key]: value for key, value in _sizes_in(name).items() if key in keys}


def _of_name_for_maxtext(name: str, data: t.Any) -> dict[str, t.Any]:
    """Return the sizes in the name of a cell, under the keys of MaxText that CVS sets."""
    keys = {"BS": "per_device_batch_size", "SL": "max_target_length", "PRECISION": "quantization"}
    values = {keys[key]: value for key, value in _sizes_in(name).items() if key in keys}
    if "quantization" in values:
        fp8 = "fp8" if _OF_CDNA4.search(str(value_at(data, "gpu_name"))) else "nanoo_fp8"
        precision = values["quantization"]
        values["quantization"] = {"FP8": fp8, "BF16": ""}.get(precision.upper(), precision)
    return values


_MEGATRON = Shape(
    OF_MEGATRON,
    MegatronFile,
    "gpu_name",
    "train_params",
    model=("train_params.model_name",),
    example="llama3.1_8B",
    rows={
        **_PATHS,
        "paths.data_cache_dir": "config.data_cache_dir",
        "train_params.training_iterations": "config.training_iterations",
        "train_params.megatron_root": "config.megatron_root",
        "train_params.training_scripts": "config.training_scripts",
        **megatrons_rows("train_params"),
        **_CONTAINER,
        **_VARIABLES,
    },
    readers={"train_params.precision": read_precision},
    words=PRECISION_WORDS,
    mode=_mode,
    of_name=_of_name,
)
_TORCHTITAN = Shape(
    OF_TORCHTITAN,
    MegatronFile,
    "gpu_name",
    "train_params",
    model=("train_params.model_name",),
    example="llama3_1_8b",
    rows={
        **_PATHS,
        "paths.data_cache_dir": "",
        "train_params.training_iterations": "config.training_iterations",
        "train_params.torchtitan_root": "config.torchtitan_root",
        "train_params.nic_type": "config.nic_type",
        "train_params.use_generated_config": "config.use_generated_config",
        "train_params.log_freq": "config.log_freq",
        **titans_rows("train_params"),
        **_CONTAINER,
        **_VARIABLES,
    },
    of_model=of_titans_model,
    mode=_mode,
    of_name=_of_name,
)
_MAXTEXT = Shape(
    OF_MAXTEXT,
    MaxTextFile,
    "gpu_name",
    "train_params.maxtext_config",
    model=("train_params.model_id", "train_params.maxtext_config.model_name"),
    example="llama3.1-8b",
    rows={
        **dict.fromkeys([*_PATHS, "paths.data_cache_dir"], ""),
        "paths.log_dir": "config.log_dir",
        "paths.hf_token_file": "config.hf_token_file",
        "paths.models_dir": "config.data_cache_dir",
        **{f"train_params.{name}": f"config.{name}" for name in CHECKOUT},
        "train_params.xla_flags": "config.xla_flags",
        "train_params.maxtext_config.steps": "config.training_steps",
        "train_params.maxtext_config.enable_checkpointing": "config.enable_checkpointing",
        "train_params.maxtext_config.base_config": "",
        "train_params.maxtext_config.run_name": "",
        "train_params.maxtext_config.*": "branch.*",
        **_CONTAINER,
        # The launch sets these.
        "container.env.NNODES": "",
        "container.env.NODE_RANK": "",
        "container.env.JAX_PROCESS_INDEX": "",
        "container.env.NCCL_IB_HCA": "config.nccl_ib_hca",
        "container.env.NCCL_SOCKET_IFNAME": "config.nccl_socket_ifname",
        "container.env.GLOO_SOCKET_IFNAME": "config.gloo_socket_ifname",
        "container.env.NCCL_IB_GID_INDEX": "config.nccl_ib_gid_index",
        "container.env.NCCL_DEBUG": "config.nccl_debug",
        "container.env.JAX_COORDINATOR_IP": "config.coordinator_ip",
        # MaxText has keys for them, and reads no such variables.
        "container.env.JAX_DISTRIBUTED_INITIALIZATION_TIMEOUT_SECONDS": "branch.jax_distributed_initialization_timeout",
        "container.env.JAX_DISTRIBUTED_HEARTBEAT_TIMEOUT_SECONDS": "branch.jax_distributed_heartbeat_timeout_seconds",
        "container.env.*": "config.env_vars.*",
    },
    mode=_mode,
    cells="sweeps",
    runs="runs",
    of_name=_of_name_for_maxtext,
)
SHAPES = (_MEGATRON, replace(_MEGATRON, dialect=PRIMUS), _MAXTEXT, _TORCHTITAN)
