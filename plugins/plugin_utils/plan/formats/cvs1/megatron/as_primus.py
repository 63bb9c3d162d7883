# SPDX-License-Identifier: GPL-3.0-or-later
"""A CVS config for Megatron-LM that trains with Primus: an experiment of its image, with values of the config.

CVS passes on the steps and the batch sizes; here the length of a sequence goes along.
Source: cvs/lib/training/megatron/primus_lib.py of ROCm/cvs at 15ea03dd.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

from .....text.words import key_path, listed, shown
from ....config.findings import Findings, PlacedFindings
from ....job.job import Branch
from ....job.options import ConfigOptions
from ...face import Sections
from ...primus_yaml.reading import PrimusFile
from ..for_trainer import for_trainer
from ..reading import CvsReading
from ..run_table import PLACES, RUN, run_table
from .config import MegatronConfig, MegatronModelParameters
from .primus_models import GPUS, MODELS, PRECISIONS, gpu_in_primus, model_in_primus, precisions_of

_MODULE = "pre_trainer"
_OVERRIDES = f"modules.{_MODULE}.overrides"
_SYNTHETIC = "Primus' experiments train on synthetic data, and no dataset of the config is passed on."
_REMEDY = "give Primus' experiment file as training_config, and change it there."
_ATOMIC = re.compile("MI3(00|25)X")
_VARIABLES_OF_CDNA3 = {"PRIMUS_TURBO_ATTN_V3_ATOMIC_FP32": "1", "NVTE_CK_IS_V3_ATOMIC_FP32": "1"}
_OF_BRANCH = {
    "micro_batch_size": "micro_batch_size",
    "global_batch_size": "batch_size",
    "seq_length": "sequence_length",
    "max_position_embeddings": "sequence_length",
}
# Passed on in another way, or the same in Primus' file.
_KNOWN = {*_OF_BRANCH.values(), "model_size", "tokenizer_model", "precision", "fp8_recipe", "fp4_recipe", "result_dict"}
_UNUSED = {"megatron_root", "training_scripts", "data_path", "dataset_source", "data_cache_dir"}
_MODELS = Sections(MegatronConfig, MegatronModelParameters)
_Reading = CvsReading[MegatronConfig, ConfigOptions]


def as_primus(
    data: Mapping[str, t.Any], options: ConfigOptions, node_count: int, findings: Findings
) -> tuple[PrimusFile | None, Findings]:
    """Return an experiment of Primus, or None if its branch has faults; and findings that use the keys of CVS."""
    reading, branch, parameters, faults = for_trainer(data, options, node_count, findings, _MODELS, _UNUSED)
    config = reading.config
    _check_data(reading)
    if branch is None:
        return None, findings
    named = _named(branch, parameters, findings)
    if named is None or len(findings.faults) > faults:
        return None, findings
    _warn_of_layout(branch, parameters, findings)
    model, gpu, precision = named
    path = f"examples/megatron/configs/{gpu}/{model}-{precision}-pretrain.yaml"
    findings.note(
        f"The image's own {path} is trained, as in CVS; steps, batch sizes and sequence length come from the config."
    )
    run = run_table(reading, _VARIABLES_OF_CDNA3 if _ATOMIC.fullmatch(gpu) else {})
    results = parameters.result_dict.model_dump(exclude_none=True) if parameters.result_dict else {}
    places = PLACES | {
        f"{RUN}.result_dict": key_path(branch.path, "result_dict"),
        f"{_OVERRIDES}.train_iters": "config.training_iterations",
        **{f"{_OVERRIDES}.{key}": key_path(branch.path, name) for key, name in _OF_BRANCH.items()},
    }
    file = PrimusFile(
        text="",
        values=_experiment(model, PRECISIONS[precision], {**run, "result_dict": results}),
        source=path,
        module=_MODULE,
        backend="megatron",
        arguments=_arguments(config, parameters),
        in_image=path,
        mode=reading.mode,
    )
    return file, PlacedFindings(findings, places)


def _check_data(reading: _Reading) -> None:
    if reading.config.mock_data is False:
        reading.fault("config.mock_data", _SYNTHETIC, f"Set mock_data to True, or {_REMEDY}")


def _named(branch: Branch, parameters: MegatronModelParameters, findings: Findings) -> tuple[str, str, str] | None:
    """Return model, GPU and precision as the name of Primus' experiment has them; None and faults if it has not."""
    model, gpu = model_in_primus(branch.model), gpu_in_primus(branch.gpu)
    precision = _precision(parameters)
    if model is None:
        message = f"Primus has no experiment for a model {shown(branch.model)}."
        findings.fault(branch.path, branch.model, message, f"Name it as one of {listed(MODELS)}, or {_REMEDY}")
    if gpu is None:
        message = f"Primus has no experiments for a GPU {shown(branch.gpu)}."
        findings.fault(branch.path, branch.gpu, message, f"Choose one of {listed(dict.fromkeys(GPUS.values()))}.")
    if model and gpu and gpu not in MODELS[model]:
        message = f"Primus has no experiment for {model} on {gpu}, only on {listed(MODELS[model])}."
        findings.fault(branch.path, branch.gpu, message, f"Choose another model or GPU, or {_REMEDY}")
    offered = precisions_of(model, gpu) if model and gpu else tuple(PRECISIONS)
    if parameters.precision and precision not in offered:
        findings.fault(
            key_path(branch.path, "precision"),
            parameters.precision,
            f"Primus has no experiment in {precision} for {model or branch.model} on {gpu or branch.gpu}.",
            f"Choose one of {listed(offered)}, or {_REMEDY}",
        )
    return (model, gpu, precision) if model and gpu and precision in offered else None


def _precision(parameters: MegatronModelParameters) -> str:
    recipes = {getattr(parameters, f"{kind}_recipe", None): f"MX{kind.upper()}" for kind in ("fp8", "fp4")}
    plain = str(parameters.precision).removeprefix("TE_")
    return recipes.get("mxfp8" if plain == "FP8" else "mxfp4" if plain == "FP4" else "", plain)


def _warn_of_layout(branch: Branch, parameters: MegatronModelParameters, findings: Findings) -> None:
    """Warn of values that Primus' experiment decides."""
    given = [
        key for key in branch.values if key not in _KNOWN and getattr(parameters, key, None) not in (None, False, 1)
    ]
    if given:
        findings.warn(
            key_path(branch.path, given[0]),
            branch.values[given[0]],
            f"Primus' experiment for the model decides {listed(given)}: as with CVS, such values are not passed on.",
            f"Leave them out, or {_REMEDY}",
        )


def _arguments(config: MegatronConfig, parameters: MegatronModelParameters) -> dict[str, t.Any]:
    of_branch = {key: getattr(parameters, name) for key, name in _OF_BRANCH.items()}
    given = {**of_branch, "train_iters": config.training_iterations}
    return {key: value for key, value in given.items() if value is not None}


def _experiment(model: str, precision: Mapping[str, str], run: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the known values of an experiment in the image."""
    return {
        **{name: name for name in ("work_group", "user_name", "exp_name")},
        "workspace": "./output",
        "modules": {
            _MODULE: {
                "framework": "megatron",
                "config": f"{_MODULE}.yaml",
                "model": f"{model}.yaml",
                "overrides": dict(precision),
            }
        },
        RUN: dict(run),
    }
