# SPDX-License-Identifier: GPL-3.0-or-later
"""Where files with ``schema_version`` have the keys of CVS's first format, by purpose."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ....text.words import listed, shown
from ...config.findings import Findings
from ...config.model import flag_in
from ...job.options import ConfigOptions
from ..cvs1.branch import canonical_model
from ..cvs1.maxtext.dialect import DIALECT as OF_MAXTEXT
from ..cvs1.megatron.dialect import DIALECT as OF_MEGATRON
from ..cvs1.megatron.dialect import PRIMUS
from ..cvs1.torchtitan.dialect import DIALECT as OF_TORCHTITAN
from ..cvs1.torchtitan.models import TOKENIZERS, size_in
from ..cvs_translation import CONTAINER, Moved, Shape
from .config import MaxTextFile, MegatronFile, TorchTitanFile

# As CVS's cvs/lib/training/megatron/utils/model_registry.py has them for the Llama scripts, and the first format's.
_PRECISIONS: dict[str, dict[str, str]] = {
    "FP8": {"precision": "TE_FP8"},
    "BF16": {"precision": "TE_BF16"},
    "FP16": {"precision": "TE_FP16"},
    "MXFP8": {"precision": "TE_FP8", "fp8_recipe": "mxfp8"},
    "MXFP4": {"precision": "TE_FP4", "fp4_recipe": "mxfp4"},
}
CHECKOUT = ("maxtext_branch", "maxtext_root", "maxtext_install_cmd")
PRECISION_WORDS = {first["precision"]: name for name, first in _PRECISIONS.items() if len(first) == 1}


def read_precision(given: t.Any, place: str, findings: Findings) -> Iterator[Moved]:
    """Yield a precision of Megatron, with the recipe that the first format names separately."""
    known = _PRECISIONS.get(str(given).upper().removeprefix("TE_"))
    if known is None:
        message = f"precision is {shown(given)}, which is not one of {listed(_PRECISIONS)}."
        findings.fault(place, given, message, f"Give one of {listed(_PRECISIONS)}.")
    for name, value in (known or _PRECISIONS["BF16"]).items():
        yield ("branch", name), value, place


def of_titans_model(name: str) -> dict[str, str]:
    """Return the facts that a model's name gives on a TorchTitan training: llama3_1_8b ends with its size."""
    name = canonical_model(name)
    tokenizer = {"tokenizer_path": TOKENIZERS[name]} if name in TOKENIZERS else {}
    return {"model_size": size_in(name), **tokenizer}


def megatrons_rows(parameters: str) -> dict[str, str]:
    """Return the rows of a Megatron training at a path."""
    return {
        f"{parameters}.model_name": "",
        f"{parameters}.*": "branch.*",
        f"{parameters}.global_batch_size": "branch.batch_size",
        f"{parameters}.precision": "branch.precision",
    }


def titans_rows(parameters: str) -> dict[str, str]:
    """Return the rows of a TorchTitan training at a path."""
    return {
        f"{parameters}.model_name": "",
        f"{parameters}.hf_assets_path": "branch.tokenizer_folder",
        f"{parameters}.*": "branch.*",
        f"{parameters}.tokenizer_model": "branch.tokenizer_path",
        f"{parameters}.tokenizer_path": "branch.tokenizer_path",
        f"{parameters}.hf_model_name": "branch.tokenizer_path",
    }


def _mode_of_framework(data: Mapping[str, t.Any], _options: ConfigOptions, _node_count: int) -> str:
    return "single_node" if str(data.get("framework")).endswith("single") else "multi_node"


def _mode_of_flag(data: Mapping[str, t.Any], _options: ConfigOptions, _node_count: int) -> str:
    return "single_node" if flag_in(data.get("training"), "distributed") is False else "multi_node"


_MEGATRON = Shape(
    OF_MEGATRON,
    MegatronFile,
    "gpu_arch",
    "model_params",
    model=("model_params.model_name",),
    example="llama3.1_8B",
    rows={
        # CVS passes on the second of these two, the first format the first.
        "config.nccl_ib_hca_list": "config.nccl_ib_hca_list",
        "config.nccl_ib_hca": "config.nccl_ib_hca_list",
        "config.*": "config.*",
        **megatrons_rows("model_params"),
        **CONTAINER,
    },
    readers={"model_params.precision": read_precision},
    words=PRECISION_WORDS,
    mode=_mode_of_framework,
    nodes=1,
)
_TORCHTITAN = Shape(
    OF_TORCHTITAN,
    TorchTitanFile,
    "gpu_arch",
    "model_params",
    model=("model_params.model_name",),
    example="llama3_1_8b",
    rows={"config.*": "config.*", **titans_rows("model_params"), **CONTAINER},
    of_model=of_titans_model,
    mode=_mode_of_framework,
    nodes=1,
)
_MAXTEXT = Shape(
    OF_MAXTEXT,
    MaxTextFile,
    "gpu_arch",
    "training.maxtext_config",
    model=("model.id", "training.maxtext_config.model_name", "model.id"),
    example="llama3.1-8b",
    rows={
        "paths.log_dir": "config.log_dir",
        "paths.hf_token_file": "config.hf_token_file",
        "paths.models_dir": "config.data_cache_dir",
        "training.steps": "config.training_steps",
        "training.enable_checkpointing": "config.enable_checkpointing",
        "training.nic_type": "config.nic_type",
        **{f"training.{name}": f"config.{name}" for name in CHECKOUT},
        "training.xla_flags": "config.xla_flags",
        # CVS sets these two itself, whatever its config says.
        "training.env_vars.NNODES": "",
        "training.env_vars.NODE_RANK": "",
        "training.env_vars.*": "config.env_vars.*",
        "training.nccl.ib_hca": "config.nccl_ib_hca",
        "training.nccl.ib_hca_list": "config.nccl_ib_hca_list",
        "training.nccl.socket_ifname": "config.nccl_socket_ifname",
        "training.nccl.gloo_socket_ifname": "config.gloo_socket_ifname",
        "training.nccl.ib_tc": "config.nccl_ib_tc",
        "training.nccl.ib_sl": "config.nccl_ib_sl",
        "training.nccl.ib_gid_index": "config.nccl_ib_gid_index",
        "training.jax_distributed.coordinator_ip": "config.coordinator_ip",
        "training.jax_distributed.coordinator_port": "config.env_vars.JAX_COORDINATOR_PORT",
        "training.maxtext_config.base_config": "",
        "training.maxtext_config.run_name": "",
        "training.maxtext_config.*": "branch.*",
        "training.jax_distributed.initialization_timeout_seconds": "branch.jax_distributed_initialization_timeout",
        "training.jax_distributed.heartbeat_timeout_seconds": "branch.jax_distributed_heartbeat_timeout_seconds",
        "training.tokenizer.tokenizer_path": "branch.tokenizer_path",
        **CONTAINER,
    },
    # CVS passes on the variables' values.
    unless={
        "training.jax_distributed.coordinator_port": "training.env_vars.JAX_COORDINATOR_PORT",
        **{
            f"training.nccl.{name}": f"training.env_vars.NCCL_{name.upper()}"
            for name in ("ib_hca", "ib_hca_list", "ib_tc", "ib_sl", "ib_gid_index")
        },
    },
    mode=_mode_of_flag,
    cells="training.sweeps",
    runs="training.enabled_sweep_list",
    nested="maxtext_overrides",
)
SHAPES = (_MEGATRON, replace(_MEGATRON, dialect=PRIMUS), _MAXTEXT, _TORCHTITAN)
