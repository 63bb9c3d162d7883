# SPDX-License-Identifier: GPL-3.0-or-later
"""Files for JAX MaxText: the same as a config in CVS's first format."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ....text.words import key_path, shown
from ...config.findings import Findings
from ...config.kinds import is_placeholder
from ...config.model import flag_in, section, typed
from ...job.options import ConfigOptions
from ..cvs1.maxtext.dialect import DIALECT
from .container import CHECKED_THERE, MOVES, move_container
from .file import FirstFormat, LaterFile, check_gpus, warn_of_checkpoint_test
from .maxtext_config import MOVING, MaxTextFile
from .places import value_at
from .shape import First, Shape
from .substitution import substituted

_CONFIG = {
    "log_dir": "paths.log_dir",
    "hf_token_file": "paths.hf_token_file",
    "data_cache_dir": "paths.models_dir",
    "training_steps": "training.steps",
    "enable_checkpointing": "training.enable_checkpointing",
    "nic_type": "training.nic_type",
    "xla_flags": "training.xla_flags",
    "env_vars": "training.env_vars",
    "nccl_ib_hca": "training.nccl.ib_hca",
    "nccl_ib_hca_list": "training.nccl.ib_hca_list",
    "nccl_socket_ifname": "training.nccl.socket_ifname",
    "gloo_socket_ifname": "training.nccl.gloo_socket_ifname",
    "nccl_ib_tc": "training.nccl.ib_tc",
    "nccl_ib_sl": "training.nccl.ib_sl",
    "nccl_ib_gid_index": "training.nccl.ib_gid_index",
    "coordinator_ip": "training.jax_distributed.coordinator_ip",
}
_BRANCH = {
    "tokenizer_path": "training.tokenizer.tokenizer_path",
    "jax_distributed_initialization_timeout": "training.jax_distributed.initialization_timeout_seconds",
    "jax_distributed_heartbeat_timeout_seconds": "training.jax_distributed.heartbeat_timeout_seconds",
}
_MOVES = {
    **MOVES,
    **{f"config.{name}": place for name, place in _CONFIG.items()},
    **{f"branch.{name}": place for name, place in _BRANCH.items()},
}
# CVS sets these itself, whatever its config says.
_OF_LAUNCH = ("NNODES", "NODE_RANK")
_SET_BY_CVS = ("base_config", "run_name")
_PORT, _PORT_PLACE = "JAX_COORDINATOR_PORT", "training.jax_distributed.coordinator_port"
_PARAMETERS = "training.maxtext_config"


def first_format(file: LaterFile, options: ConfigOptions, node_count: int, findings: Findings) -> First | None:
    """Return the config and the places of its keys in the file, or None if a whole section is missing."""
    lower_unknown = options.lower_unknown
    data = substituted(file.data)
    read = typed(MaxTextFile, data, "", findings, unused=(*CHECKED_THERE, *MOVING), lower_unknown=lower_unknown)
    if not isinstance(data.get("training"), dict):
        return None
    parameters = section({"maxtext_config": {}, **data["training"]}, "maxtext_config", _PARAMETERS, findings)
    if parameters is None:
        return None
    distributed = flag_in(data["training"], "distributed", default=True)
    first = FirstFormat(
        "single_node" if distributed is False else "multi_node", _model_of(data, findings), read.gpu_arch or "gpu"
    )
    if node_count:
        first.take("config", "nnodes", node_count, "training")
    variables = value_at(data, "training.env_vars")
    variables = variables if isinstance(variables, dict) else {}
    for name, place in _CONFIG.items():
        value = value_at(data, place)
        # CVS passes on what the variables say.
        if value is not None and not (name.startswith("nccl_ib_") and name.upper() in variables):
            first.take("config", name, value, place)
    _take_variables(first, variables, value_at(data, _PORT_PLACE))
    for name, value in parameters.items():
        if name not in _SET_BY_CVS:
            first.take("branch", name, value, key_path(_PARAMETERS, name))
    for name, place in _BRANCH.items():
        value = value_at(data, place)
        if value is not None:
            first.take("branch", name, value, place)
    first.places |= move_container(data, first.values, findings)
    check_gpus(
        data["training"].get("gpus_per_node"), "training.gpus_per_node", options.training_gpus_per_node, findings
    )
    if read.training.checkpoint_resume.enabled:
        warn_of_checkpoint_test("training.checkpoint_resume.enabled", findings)
    return first.as_file(DIALECT), first.words(_PARAMETERS, _MOVES, file.moved)


def _model_of(data: Mapping[str, t.Any], findings: Findings) -> str:
    model = value_at(data, "model.id") or value_at(data, f"{_PARAMETERS}.model_name")
    if isinstance(model, str) and not is_placeholder(model):
        return model
    message = "id is missing." if model is None else f"id is {shown(model)}, which is not a name."
    findings.fault("model.id", model, message, "Give the name of the model, for example llama3.1-8b.")
    return "model"


def _take_variables(first: FirstFormat, variables: dict[str, t.Any], port: t.Any) -> None:
    kept = {name: value for name, value in variables.items() if name not in _OF_LAUNCH}
    if port is not None:
        kept.setdefault(_PORT, port)
        first.places[f"config.env_vars.{_PORT}"] = _PORT_PLACE
    if kept:
        first.take("config", "env_vars", kept, "training.env_vars")


def _section_of(key: str) -> str | None:
    return _SECTIONS.get(key)


_SECTIONS = {place.rpartition(".")[2]: place.rpartition(".")[0] for place in (*_CONFIG.values(), _PORT_PLACE)}
SHAPE = Shape(
    DIALECT,
    "training.sweeps",
    "training.enabled_sweep_list",
    _PARAMETERS,
    first_format,
    _section_of,
    nested="maxtext_overrides",
)
