# SPDX-License-Identifier: GPL-3.0-or-later
"""Files for TorchTitan: the same as a config in CVS's first format."""

from __future__ import annotations

from ...config.findings import Findings
from ...config.model import section, typed
from ...job.options import ConfigOptions
from ..cvs1.torchtitan.dialect import DIALECT
from ..cvs2.container import CHECKED_THERE
from ..cvs2.file import FirstFormat, LaterFile, warn_of_checkpoint_test
from ..cvs2.shape import First, Shape
from ..cvs2.substitution import substituted
from ..cvs2.torchtitan import named_model, take_parameters
from .config import MOVING, MegatronFile
from .megatron import VARIABLES, mode_of, of_name, take_run
from .variables import PLACE

_PARAMETERS = "train_params"
_CONFIG = {
    "log_dir": "paths.log_dir",
    "hf_token_file": "paths.hf_token_file",
    "scripts_dir": "paths.scripts_dir",
    "rocm_dir": "paths.rocm_dir",
    "verify_network_errors": "verify_network_errors",
    **{
        name: f"{_PARAMETERS}.{name}"
        for name in ("training_iterations", "torchtitan_root", "nic_type", "use_generated_config", "log_freq")
    },
}


def first_format(file: LaterFile, options: ConfigOptions, node_count: int, findings: Findings) -> First | None:
    """Return the config and the places of its keys in the file, or None if a whole section is missing."""
    data, lower_unknown = substituted(file.data), options.lower_unknown
    read = typed(MegatronFile, data, "", findings, unused=(*CHECKED_THERE, *MOVING), lower_unknown=lower_unknown)
    parameters = section(data, _PARAMETERS, _PARAMETERS, findings)
    if parameters is None:
        return None
    model = named_model(parameters, _PARAMETERS, findings)
    first = FirstFormat(mode_of(data, options.training_mode, node_count), model, read.gpu_name or "gpu")
    moves = take_run(first, data, _CONFIG, options.training_gpus_per_node, node_count, findings)
    moves |= take_parameters(first, {key: parameters[key] for key in parameters if key not in _CONFIG}, _PARAMETERS)
    if read.checkpoint.enforce:
        warn_of_checkpoint_test("checkpoint.enforce", findings)
    return first.as_file(DIALECT), first.words(_PARAMETERS, moves, file.moved)


def _section_of(key: str) -> str | None:
    place = _CONFIG.get(key) or (f"{PLACE}." if key in VARIABLES else None)
    return place.rpartition(".")[0] if place else None


SHAPE = Shape(DIALECT, "sweep.combinations", "sweep.runs", _PARAMETERS, first_format, _section_of, of_name=of_name)
