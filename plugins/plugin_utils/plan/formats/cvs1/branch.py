# SPDX-License-Identifier: GPL-3.0-or-later
"""The branch of a CVS training config that a run uses: ``model_params.single_node|multi_node.<model>.<gpu>``."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable, Iterable, Mapping

from ....text.words import key_path, listed, shown
from ...config.findings import Findings
from ...config.model import flag_in, refuse_unknown_keys, section
from ...job.job import MODES, Branch, check_name
from ...job.options import Selection


def canonical_gpu(name: str) -> str:
    """Return the canonical spelling of a GPU: MI300X, mi300x and mi300 mean the same."""
    return name.strip().casefold().removesuffix("x")


def canonical_model(name: str) -> str:
    """Return the canonical spelling of a model: llama3.1-8b, Llama3_1_8B and llama3_1_8b mean the same."""
    return re.sub(r"[.\- ]", "_", name.strip().casefold())


def offered_modes(parameters: t.Any) -> list[str]:
    """Return the modes that ``model_params`` has a section for."""
    return [mode for mode in MODES if isinstance(parameters, dict) and mode in parameters]


def mode_of(data: Mapping[str, t.Any], asked: str | None, node_count: int) -> str:
    """Return the mode of the run: the one that is ``asked`` for, or with ``auto`` the one that the file offers.

    If it offers both, ``config.distributed_training`` decides, or else the number of nodes.
    """
    if asked in MODES:
        return asked
    offered = offered_modes(data.get("model_params"))
    if len(offered) == 1:
        return offered[0]
    distributed = flag_in(data.get("config"), "distributed_training")
    if distributed is None:
        distributed = node_count > 1
    return "multi_node" if distributed else "single_node"


def choose_branch(data: Mapping[str, t.Any], mode: str, asked: Selection, findings: Findings) -> Branch | None:
    """Return the requested branch, or None with faults that list the file's branches.

    Model and GPU need not be named if there is only one.
    """
    parameters = section(data, "model_params", "model_params", findings)
    if parameters is None:
        return None
    refuse_unknown_keys(parameters, MODES, "model_params", findings, lower_to_warning=asked.lower_unknown)
    if mode not in parameters:
        offered = offered_modes(parameters)
        problem = f"The file has no model_params.{mode}."
        _fault_unoffered("training_mode", mode, problem, offered, offered, findings)
        return None
    path = key_path("model_params", mode)
    models = section(parameters, mode, path, findings)
    chosen = None if models is None else _choose_model_and_gpu(models, path, asked, findings)
    if models is None or chosen is None:
        return None
    model, gpu = chosen
    path = key_path(path, model, gpu)
    for name in chosen:
        check_name(name, path, findings)
    values = section(models[model], gpu, path, findings)
    return None if values is None else Branch(mode, model, gpu, path, values)


def _choose_model_and_gpu(
    models: Mapping[str, t.Any], path: str, asked: Selection, findings: Findings
) -> tuple[str, str] | None:
    model = _choose("training_model", asked.model, models, path, canonical_model, findings)
    if model is None:
        _check_gpu_of_any(asked.gpu, models, path, findings)
        return None
    path = key_path(path, model)
    gpus = section(models, model, path, findings)
    if gpus is None:
        return None
    gpu = _choose("training_gpu", asked.gpu, gpus, path, canonical_gpu, findings)
    return None if gpu is None else (model, gpu)


def _choose(
    option: str,
    asked: str | None,
    offered: Mapping[str, t.Any],
    path: str,
    canonical: Callable[[str], str],
    findings: Findings,
) -> str | None:
    if asked is None:
        return None
    if asked in offered:
        return asked
    if not asked and len(offered) == 1:
        return next(iter(offered))
    matches = [name for name in offered if canonical(name) == canonical(asked)]
    if asked and len(matches) == 1:
        return matches[0]
    described = [_with_gpus(name, offered[name]) if option == "training_model" else name for name in offered]
    if not offered:
        problem = f"{path} is empty."
    elif not asked:
        problem = f"It is not set, and {path} has {len(offered)} to choose from."
    elif matches:
        problem = f"{shown(asked)} is ambiguous in {path}: {' or '.join(matches)}."
    else:
        problem = f"{shown(asked)} is not in {path}."
    _fault_unoffered(option, asked, problem, offered, described, findings)
    return None


def _check_gpu_of_any(asked: str | None, models: Mapping[str, t.Any], path: str, findings: Findings) -> None:
    """Report a GPU that no model has, if the model itself is unknown."""
    gpus = dict.fromkeys(gpu for model in models.values() if isinstance(model, dict) for gpu in model)
    if asked and gpus and canonical_gpu(asked) not in map(canonical_gpu, gpus):
        _fault_unoffered("training_gpu", asked, f"No model of {path} has {shown(asked)}.", gpus, gpus, findings)


def _with_gpus(model: str, gpus: t.Any) -> str:
    return f"{model} ({listed(gpus)})" if isinstance(gpus, dict) else model


def _fault_unoffered(
    option: str, asked: str, problem: str, offered: Iterable[str], described: Iterable[str], findings: Findings
) -> None:
    first = next(iter(offered), None)
    example = f" Set, for example, -e {option}={first}." if first else ""
    findings.fault(option, asked or None, problem, f"The file offers {listed(described)}.{example}")
