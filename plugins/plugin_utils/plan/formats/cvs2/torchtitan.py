# SPDX-License-Identifier: GPL-3.0-or-later
"""Files for TorchTitan: the same as a config in CVS's first format."""

from __future__ import annotations

import typing as t

from ....text.words import key_path
from ...config.findings import Findings
from ...config.model import section, typed
from ...job.options import ConfigOptions
from ..cvs1.branch import canonical_model
from ..cvs1.torchtitan.dialect import DIALECT
from ..cvs1.torchtitan.models import TOKENIZERS, size_in
from .config import TorchTitanFile
from .container import CHECKED_THERE, MOVES, move_container
from .file import FirstFormat, LaterFile, warn_of_checkpoint_test
from .megatron import SECTIONS, model_of, take_config
from .shape import First, Shape

_PARAMETERS = "model_params"
# The last of several tokenizer names counts.
_RENAMED = {
    "tokenizer_model": "tokenizer_path",
    "tokenizer_path": "tokenizer_path",
    "hf_model_name": "tokenizer_path",
    "hf_assets_path": "tokenizer_folder",
}


def first_format(file: LaterFile, options: ConfigOptions, _node_count: int, findings: Findings) -> First | None:
    """Return the config and the places of its keys in the file, or None if a whole section is missing."""
    data, lower_unknown = file.data, options.lower_unknown
    unused = (*CHECKED_THERE, *SECTIONS, "sweep", "smoke", "checkpoint_dir")
    read = typed(TorchTitanFile, data, "", findings, unused=unused, lower_unknown=lower_unknown)
    config, parameters = (section(data, name, name, findings) for name in SECTIONS)
    if config is None or parameters is None:
        return None
    mode = "single_node" if str(data.get("framework")).endswith("single") else "multi_node"
    model = named_model(parameters, _PARAMETERS, findings)
    first = FirstFormat(mode, model, read.gpu_arch or "gpu")
    take_config(first, config, findings)
    moves = {**MOVES, **take_parameters(first, parameters, _PARAMETERS)}
    first.places |= move_container(data, first.values, findings)
    if read.checkpoint.enforce:
        warn_of_checkpoint_test("checkpoint.enforce", findings)
    return first.as_file(DIALECT), first.words(_PARAMETERS, moves, file.moved)


def named_model(parameters: dict[str, t.Any], path: str, findings: Findings) -> str:
    """Return the name of the model; where that is wrong, one that has no faults of its own."""
    faults = len(findings.faults)
    model = model_of(parameters, path, findings)
    return model if len(findings.faults) == faults else next(iter(TOKENIZERS))


def take_parameters(first: FirstFormat, parameters: dict[str, t.Any], path: str) -> dict[str, str]:
    """Take the values of what is trained, which stand at a path; return which of them have moved, and where to."""
    # The name ends with the size: llama3_1_8b.
    name, where = canonical_model(first.model), f"{path}.model_name"
    first.take("branch", "model_size", size_in(name), where)
    if name in TOKENIZERS:
        first.take("branch", "tokenizer_path", TOKENIZERS[name], where)
    others = (key for key in parameters if key not in _RENAMED and key != "model_name")
    for key in (*others, *(key for key in _RENAMED if key in parameters)):
        first.take("branch", _RENAMED.get(key, key), parameters[key], key_path(path, key))
    return {f"branch.{name}": f"{path}.{own}" for own, name in _RENAMED.items()}


def _section_of(key: str) -> str | None:
    return "config" if key in DIALECT.sections().config.model_fields else None


SHAPE = Shape(DIALECT, "sweep.combinations", "sweep.runs", _PARAMETERS, first_format, _section_of)
