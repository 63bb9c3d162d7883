# SPDX-License-Identifier: GPL-3.0-or-later
"""Files for Megatron-LM: the same as a config in CVS's first format."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ....text.words import key_path
from ...config.findings import Findings
from ...config.model import section, typed
from ...job.job import MODES
from ...job.options import ConfigOptions
from ..cvs1.megatron.dialect import DIALECT
from ..cvs2.container import CHECKED_THERE, MOVES, move_container
from ..cvs2.file import FirstFormat, LaterFile, check_gpus, warn_of_checkpoint_test
from ..cvs2.megatron import OWN, RENAMED, WORDS, model_of, take_precision
from ..cvs2.places import value_at
from ..cvs2.shape import First, Shape
from ..cvs2.substitution import substituted
from .config import MOVING, MegatronFile
from .names import sizes_in
from .variables import PLACE, take_variables

_PARAMETERS = "train_params"
_CONFIG = {
    "log_dir": "paths.log_dir",
    "hf_token_file": "paths.hf_token_file",
    "data_cache_dir": "paths.data_cache_dir",
    "scripts_dir": "paths.scripts_dir",
    "rocm_dir": "paths.rocm_dir",
    "verify_network_errors": "verify_network_errors",
    "training_iterations": f"{_PARAMETERS}.training_iterations",
    "megatron_root": f"{_PARAMETERS}.megatron_root",
    "training_scripts": f"{_PARAMETERS}.training_scripts",
}
VARIABLES = {
    "MASTER_ADDR": "config.master_address",
    "NNODES": "config.nnodes",
    "NCCL_IB_HCA": "config.nccl_ib_hca_list",
    "NCCL_SOCKET_IFNAME": "config.nccl_socket_ifname",
    "GLOO_SOCKET_IFNAME": "config.gloo_socket_ifname",
    "NCCL_IB_GID_INDEX": "config.nccl_ib_gid_index",
    "NCCL_DEBUG": "config.nccl_debug",
}
_SIZES = {"MBS": "micro_batch_size", "GBS": "global_batch_size", "PRECISION": "precision"}


def first_format(file: LaterFile, options: ConfigOptions, node_count: int, findings: Findings) -> First | None:
    """Return the config and the places of its keys in the file, or None if a whole section is missing."""
    data = substituted(file.data)
    lower_unknown = options.lower_unknown
    read = typed(MegatronFile, data, "", findings, unused=(*CHECKED_THERE, *MOVING), lower_unknown=lower_unknown)
    parameters = section(data, _PARAMETERS, _PARAMETERS, findings)
    if parameters is None:
        return None
    first = FirstFormat(
        mode_of(data, options.training_mode, node_count),
        model_of(parameters, _PARAMETERS, findings),
        read.gpu_name or "gpu",
    )
    moves = take_run(first, data, _CONFIG, options.training_gpus_per_node, node_count, findings)
    for name, value in parameters.items():
        if name not in OWN and name not in _CONFIG:
            first.take("branch", RENAMED.get(name, name), value, key_path(_PARAMETERS, name))
    take_precision(first, parameters, f"{_PARAMETERS}.precision", file, findings)
    if read.checkpoint.enforce:
        warn_of_checkpoint_test("checkpoint.enforce", findings)
    moves["branch.batch_size"] = f"{_PARAMETERS}.global_batch_size"
    return first.as_file(DIALECT), WORDS | first.words(_PARAMETERS, moves, file.moved)


def take_run(
    first: FirstFormat,
    data: dict[str, t.Any],
    of_config: Mapping[str, str],
    gpus: int | None,
    node_count: int,
    findings: Findings,
) -> dict[str, str]:
    """Take the number of nodes, the container, and values of the section ``config`` by their places in the file.

    Return which keys of the first format have moved, and where to.
    """
    if node_count and value_at(data, f"{PLACE}.NNODES") is None:
        first.take("config", "nnodes", node_count, f"{PLACE}.NNODES")
    for name, place in of_config.items():
        value = value_at(data, place)
        if value is not None:
            first.take("config", name, value, place)
    data = take_variables(first, data, VARIABLES, "config.container_config", ())
    others = first.values["config"].pop("container_config", None)
    first.places |= move_container(data, first.values, findings)
    if others is not None:
        first.values["config"].setdefault("container_config", {})["env_dict"] = others
        first.places["config.container_config.env_dict"] = PLACE
    check_gpus(data.get("gpus_per_node"), "gpus_per_node", gpus, findings)
    return {
        **MOVES,
        **{f"config.{name}": place for name, place in of_config.items()},
        **{key: f"{PLACE}.{name}" for name, key in VARIABLES.items()},
    }


def mode_of(data: dict[str, t.Any], asked: str | None, node_count: int) -> str:
    """Return the mode of the run: the one that is asked for, else by the number of nodes of the file, or of the run."""
    if asked in MODES:
        return asked
    named = value_at(data, f"{PLACE}.NNODES")
    return "single_node" if str(node_count if named is None else named) == "1" else "multi_node"


def _section_of(key: str) -> str | None:
    place = _CONFIG.get(key) or (f"{PLACE}." if key in VARIABLES else None)
    return place.rpartition(".")[0] if place else None


def of_name(name: str, _data: t.Any) -> dict[str, t.Any]:
    """Return the sizes in the name of a cell, as CVS sets them."""
    return {_SIZES[key]: value for key, value in sizes_in(name).items() if key in _SIZES}


SHAPE = Shape(DIALECT, "sweep.combinations", "sweep.runs", _PARAMETERS, first_format, _section_of, of_name=of_name)
