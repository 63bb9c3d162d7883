# SPDX-License-Identifier: GPL-3.0-or-later
"""Files for ROCm's Megatron-LM: the same as a config in CVS's first format."""

from __future__ import annotations

import posixpath
import typing as t

from ....text.words import key_path, listed, shown
from ...config.findings import Findings
from ...config.kinds import is_placeholder
from ...config.model import section, typed
from ...job.options import ConfigOptions
from ..cvs1.megatron.dialect import DIALECT
from .config import MegatronFile
from .container import CHECKED_THERE, MOVES, move_container
from .file import FirstFormat, LaterFile, warn_of_checkpoint_test
from .shape import First, Shape

# As CVS's cvs/lib/training/megatron/utils/model_registry.py has them for the Llama scripts, and the first format's.
PRECISIONS: dict[str, dict[str, str]] = {
    "FP8": {"precision": "TE_FP8"},
    "BF16": {"precision": "TE_BF16"},
    "FP16": {"precision": "TE_FP16"},
    "MXFP8": {"precision": "TE_FP8", "fp8_recipe": "mxfp8"},
    "MXFP4": {"precision": "TE_FP4", "fp4_recipe": "mxfp4"},
}
RENAMED = {"global_batch_size": "batch_size"}
SECTIONS = ("config", "model_params")
OWN = ("model_name", "precision")
WORDS = {first["precision"]: name for name, first in PRECISIONS.items() if len(first) == 1}
_MOVES = {**MOVES, "branch.batch_size": "model_params.global_batch_size"}
# What CVS assumes.
_DEFAULTS = {"nnodes": "1"}


def first_format(file: LaterFile, options: ConfigOptions, _node_count: int, findings: Findings) -> First | None:
    """Return the config and the places of its keys in the file, or None if a whole section is missing."""
    data, lower_unknown = file.data, options.lower_unknown
    read = typed(
        MegatronFile,
        data,
        "",
        findings,
        unused=(*CHECKED_THERE, *SECTIONS, "sweep", "smoke", "checkpoint_dir"),
        lower_unknown=lower_unknown,
    )
    config, parameters = (section(data, name, name, findings) for name in SECTIONS)
    if config is None or parameters is None:
        return None
    mode = "single_node" if str(data.get("framework")).endswith("single") else "multi_node"
    first = FirstFormat(mode, model_of(parameters, "model_params", findings), read.gpu_arch or "gpu")
    take_config(first, config, findings)
    _take_devices(first, config, findings)
    for name, value in parameters.items():
        if name not in OWN:
            first.take("branch", RENAMED.get(name, name), value, key_path("model_params", name))
    take_precision(first, parameters, "model_params.precision", file, findings)
    first.places |= move_container(data, first.values, findings)
    if read.checkpoint.enforce:
        warn_of_checkpoint_test("checkpoint.enforce", findings)
    return first.as_file(DIALECT), WORDS | first.words("model_params", _MOVES, file.moved)


def take_config(first: FirstFormat, config: dict[str, t.Any], findings: Findings) -> None:
    """Take the section ``config``, and report keys that this format has in ``container``."""
    for name, value in {**_DEFAULTS, **config}.items():
        if f"config.{name}" in MOVES or name == "container_config":
            remedy = f"It belongs in {MOVES.get(f'config.{name}', 'container')}."
            findings.fault(key_path("config", name), value, f"{name} is not a known key.", remedy)
        else:
            first.values["config"][name] = value


def model_of(parameters: dict[str, t.Any], place: str, findings: Findings) -> str:
    """Return the name of the model; where that is wrong, one by which other faults can be found."""
    model, tokenizer = parameters.get("model_name"), parameters.get("tokenizer_model")
    if isinstance(model, str) and not is_placeholder(model):
        return model
    message = "model_name is missing." if model is None else f"model_name is {shown(model)}, which is not a name."
    findings.fault(f"{place}.model_name", model, message, "Give a name, for example llama3.1_8B.")
    return posixpath.basename(tokenizer) or "model" if isinstance(tokenizer, str) else "model"


def _take_devices(first: FirstFormat, config: dict[str, t.Any], findings: Findings) -> None:
    """Take the RDMA devices from the key that CVS passes on, which the first format reads second."""
    own, other = config.get("nccl_ib_hca"), config.get("nccl_ib_hca_list")
    if own is None:
        return
    first.take("config", "nccl_ib_hca_list", own, "config.nccl_ib_hca")
    first.values["config"].pop("nccl_ib_hca")
    if other not in (None, own):
        message = "nccl_ib_hca_list has no effect: nccl_ib_hca takes precedence, and differs."
        findings.warn("config.nccl_ib_hca_list", other, message, "Keep one of the two.")


def take_precision(
    first: FirstFormat, parameters: dict[str, t.Any], path: str, file: LaterFile, findings: Findings
) -> None:
    """Take the precision at a path of the file, with the recipe that the first format names separately."""
    given = parameters.get("precision")
    # The branch reports one that is missing.
    if given is None:
        return
    known = PRECISIONS.get(str(given).upper().removeprefix("TE_"))
    if known is None:
        message = f"precision is {shown(given)}, which is not one of {listed(PRECISIONS)}."
        findings.fault(file.moved.get(path, path), given, message, f"Give one of {listed(PRECISIONS)}.")
    for name, value in (known or PRECISIONS["BF16"]).items():
        first.take("branch", name, value, path)


def _section_of(key: str) -> str | None:
    return "config" if key in DIALECT.sections().config.model_fields else None


SHAPE = Shape(DIALECT, "sweep.combinations", "sweep.runs", "model_params", first_format, _section_of)
