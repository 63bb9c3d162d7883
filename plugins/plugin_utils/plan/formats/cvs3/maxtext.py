# SPDX-License-Identifier: GPL-3.0-or-later
"""Files for JAX MaxText: the same as a config in CVS's first format."""

from __future__ import annotations

import re
import typing as t

from ....text.words import key_path, shown
from ...config.findings import Findings
from ...config.kinds import is_placeholder
from ...config.model import section, typed
from ...job.job import MODES
from ...job.options import ConfigOptions
from ..cvs1.maxtext.dialect import DIALECT
from ..cvs2.container import CHECKED_THERE, MOVES, move_container
from ..cvs2.file import FirstFormat, LaterFile, check_gpus, warn_of_checkpoint_test
from ..cvs2.places import value_at
from ..cvs2.shape import First, Shape
from ..cvs2.substitution import substituted
from .config import MOVING, MaxTextFile
from .names import sizes_in
from .variables import PLACE, take_variables

_PARAMETERS = "train_params.maxtext_config"
_CONFIG = {
    "log_dir": "paths.log_dir",
    "hf_token_file": "paths.hf_token_file",
    "data_cache_dir": "paths.models_dir",
    "training_steps": f"{_PARAMETERS}.steps",
    "enable_checkpointing": f"{_PARAMETERS}.enable_checkpointing",
    "xla_flags": "train_params.xla_flags",
}
_VARIABLES = {
    "NCCL_IB_HCA": "config.nccl_ib_hca",
    "NCCL_SOCKET_IFNAME": "config.nccl_socket_ifname",
    "GLOO_SOCKET_IFNAME": "config.gloo_socket_ifname",
    "NCCL_IB_GID_INDEX": "config.nccl_ib_gid_index",
    "NCCL_DEBUG": "config.nccl_debug",
    "JAX_COORDINATOR_IP": "config.coordinator_ip",
    # MaxText has keys for them, and reads no such variables.
    "JAX_DISTRIBUTED_INITIALIZATION_TIMEOUT_SECONDS": "branch.jax_distributed_initialization_timeout",
    "JAX_DISTRIBUTED_HEARTBEAT_TIMEOUT_SECONDS": "branch.jax_distributed_heartbeat_timeout_seconds",
}
_MOVES = {
    **MOVES,
    **{f"config.{name}": place for name, place in _CONFIG.items()},
    **{key: f"{PLACE}.{name}" for name, key in _VARIABLES.items()},
}
# The launch sets these.
_OF_LAUNCH = ("NNODES", "NODE_RANK", "JAX_PROCESS_INDEX")
_SET_BY_PLAN = ("base_config", "run_name", "steps", "enable_checkpointing")
# FP8 of CDNA 3 has a format of its own.
_OF_CDNA4 = re.compile(r"mi35", re.IGNORECASE)


def first_format(file: LaterFile, options: ConfigOptions, node_count: int, findings: Findings) -> First | None:
    """Return the config and the places of its keys in the file, or None if a whole section is missing."""
    lower_unknown = options.lower_unknown
    data = substituted(file.data)
    unused = {*CHECKED_THERE, *MOVING} - {"train_params"}
    read = typed(MaxTextFile, data, "", findings, unused=unused, lower_unknown=lower_unknown)
    if not isinstance(data.get("train_params"), dict):
        return None
    parameters = section(data["train_params"], "maxtext_config", _PARAMETERS, findings)
    if parameters is None:
        return None
    by_count = "single_node" if node_count == 1 else "multi_node"
    mode = str(options.training_mode) if options.training_mode in MODES else by_count
    first = FirstFormat(mode, _model_of(data, findings), read.gpu_name or "gpu")
    if node_count:
        first.take("config", "nnodes", node_count, PLACE)
    for name, place in _CONFIG.items():
        value = value_at(data, place)
        if value is not None:
            first.take("config", name, value, place)
    for name, value in parameters.items():
        if name not in _SET_BY_PLAN:
            first.take("branch", name, value, key_path(_PARAMETERS, name))
    data = take_variables(first, data, _VARIABLES, "config.env_vars", _OF_LAUNCH)
    first.places |= move_container(data, first.values, findings)
    check_gpus(data.get("gpus_per_node"), "gpus_per_node", options.training_gpus_per_node, findings)
    if read.checkpoint_resume.enabled:
        warn_of_checkpoint_test("checkpoint_resume.enabled", findings)
    return first.as_file(DIALECT), first.words(_PARAMETERS, _MOVES, file.moved)


def _model_of(data: dict[str, t.Any], findings: Findings) -> str:
    place = "train_params.model_id"
    if value_at(data, place) is None:
        place = f"{_PARAMETERS}.model_name"
    model = value_at(data, place)
    if isinstance(model, str) and not is_placeholder(model):
        return model
    name = place.rpartition(".")[2]
    message = f"{name} is missing." if model is None else f"{name} is {shown(model)}, which is not a name."
    findings.fault(place, model, message, "Give the name of the model, for example llama3.1-8b.")
    return "model"


def _section_of(key: str) -> str | None:
    place = _CONFIG.get(key) or (f"{PLACE}." if key in _VARIABLES else None)
    return place.rpartition(".")[0] if place else None


def _of_name(name: str, data: t.Any) -> dict[str, t.Any]:
    """Return MaxText's keys for the sizes in the name of a cell, as CVS sets them."""
    sizes, values = sizes_in(name), {}
    if "BS" in sizes:
        values["per_device_batch_size"] = sizes["BS"]
    if "SL" in sizes:
        values["max_target_length"] = sizes["SL"]
    if "PRECISION" in sizes:
        fp8 = "fp8" if _OF_CDNA4.search(str(value_at(data, "gpu_name"))) else "nanoo_fp8"
        values["quantization"] = {"FP8": fp8, "BF16": ""}.get(sizes["PRECISION"].upper(), sizes["PRECISION"])
    return values


SHAPE = Shape(DIALECT, "sweeps", "runs", _PARAMETERS, first_format, _section_of, of_name=_of_name)
