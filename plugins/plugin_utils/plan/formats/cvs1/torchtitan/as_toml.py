# SPDX-License-Identifier: GPL-3.0-or-later
"""A CVS config for TorchTitan as TorchTitan's own TOML, with the values that CVS itself writes there.

Source: ``_build_toml_config`` of cvs/lib/training/torchtitan/torchtitan_lib.py and ``_build_generated_toml`` of
cvs/lib/torchtitan_training_lib.py, in ROCm/cvs at dddd9143.
"""

from __future__ import annotations

import posixpath
import re
import typing as t
from collections.abc import Mapping

from .....text.words import key_path, listed, shown
from ....config.findings import Findings, PlacedFindings
from ....config.kinds import AUTO
from ....config.toml_config import written
from ....job.job import Branch
from ....job.options import ConfigOptions
from ...face import Sections
from ...torchtitan_toml.file import TitanFile
from ..branch import canonical_model
from ..checks import warn_of_no_effect
from ..for_trainer import for_trainer
from ..reading import CvsReading
from ..run_table import PLACES, RUN, run_table, without_none
from .config import TitanConfig, TitanParameters, TitanResults
from .models import FLAVORS, flavor_of, model_of

# CVS sets them on every node.
_VARIABLES = {"HSA_FORCE_FINE_GRAIN_PCIE": "1", "PYTORCH_HIP_ALLOC_CONF": "expandable_segments:True"}
_FLOAT8 = "quantize.linear.float8"
_QUANTIZES = re.compile(r"quantize\.\w+\.\w+")
_INIT_TIMEOUT = 3600
# Keys of TorchTitan, and those that they come from.
_OF_BRANCH = {
    "model.name": "model_size",
    "model.flavor": "model_size",
    "model.hf_assets_path": "tokenizer_folder",
    "model.converters": "converters",
    "training.dataset": "dataset",
    "training.local_batch_size": "micro_batch_size",
    "training.global_batch_size": "global_batch_size",
    "training.seq_len": "sequence_length",
    "optimizer.lr": "lr",
    "lr_scheduler.warmup_steps": "warmup_steps",
    "activation_checkpoint.mode": "activation_checkpointing",
    "compile.enable": "compile",
    **{
        f"parallelism.{name}": name
        for name in (
            "data_parallel_shard_degree",
            "tensor_parallel_degree",
            "pipeline_parallel_degree",
            "context_parallel_degree",
            "expert_parallel_degree",
            "enable_async_tensor_parallel",
        )
    },
    f"{_FLOAT8}.precompute_float8_dynamic_scale_for_fsdp": "precompute_float8_dynamic_scale_for_fsdp",
    f"{RUN}.result_dict": "result_dict",
    f"{RUN}.tokenizer": "tokenizer_path",
}
_OF_CONFIG = {
    "training.steps": "training_iterations",
    "metrics.log_freq": "log_freq",
    **{f"{RUN}.{name}": name for name in ("torchtitan_root", "nic_type")},
}
_MODELS = Sections(TitanConfig, TitanParameters)
_Reading = CvsReading[TitanConfig, ConfigOptions]


def as_toml(
    data: Mapping[str, t.Any], options: ConfigOptions, node_count: int, findings: Findings
) -> tuple[TitanFile | None, Findings]:
    """Return the config as TorchTitan's, or None if its branch has faults; and findings that use the keys of CVS."""
    unused = {"data_cache_dir"}
    if not options.is_judged:
        unused.update(TitanResults.model_fields)
    reading, branch, parameters, faults = for_trainer(data, options, node_count, findings, _MODELS, unused)
    config = reading.config
    _check_config(reading)
    if branch is None:
        return None, findings
    tables = _tables(config, parameters, branch, findings)
    if tables is None or len(findings.faults) > faults:
        return None, findings
    run = _run(reading, parameters, branch)
    places = PLACES | {key: f"config.{name}" for key, name in _OF_CONFIG.items()}
    places |= {key: key_path(branch.path, name) for key, name in _OF_BRANCH.items()}
    file = TitanFile(written(tables), {**tables, RUN: run}, reading.mode, branch.model)
    return file, PlacedFindings(findings, places)


def _check_config(reading: _Reading) -> None:
    config = reading.config
    if config.use_generated_config is False:
        reading.fault(
            "config.use_generated_config",
            "With False, a file in the image sets the training, and a plan cannot read that file.",
            "Set it to True to train by this file, or give the TOML itself as training_config.",
        )
    if config.nccl_ib_gid_index == AUTO and reading.multi_node:
        warn_of_no_effect(reading, "nccl_ib_gid_index", "TorchTitan leaves the index to NCCL", "Give a number.")


def _tables(
    config: TitanConfig, parameters: TitanParameters, branch: Branch, findings: Findings
) -> dict[str, t.Any] | None:
    """Return the tables that TorchTitan reads, without values that are wrong; None if there is no such model."""
    named = _named_model(branch, parameters, findings)
    converters = _converters(branch, parameters, findings)
    if named is None:
        return None
    model, flavor = named
    tables: dict[str, dict[str, t.Any]] = {
        "model": {"name": model, "flavor": flavor, "hf_assets_path": _assets(parameters)},
        "training": {
            "dataset": parameters.dataset,
            "local_batch_size": parameters.micro_batch_size,
            "global_batch_size": parameters.global_batch_size,
            "seq_len": parameters.sequence_length,
            "steps": config.training_iterations,
            "dtype": "bfloat16",
        },
        "optimizer": {"lr": parameters.lr},
        "lr_scheduler": {"warmup_steps": parameters.warmup_steps},
        "parallelism": {
            name: getattr(parameters, name)
            for name in (key.partition(".")[2] for key in _OF_BRANCH if key.startswith("parallelism."))
        },
        "activation_checkpoint": {"mode": parameters.activation_checkpointing},
        "compile": {"enable": parameters.compile},
        "metrics": {"log_freq": config.log_freq},
        "comm": {"init_timeout_seconds": _INIT_TIMEOUT},
    }
    if converters:
        tables["model"]["converters"] = converters
    if _FLOAT8 in converters:
        float8 = {
            "enable_fsdp_float8_all_gather": True,
            "precompute_float8_dynamic_scale_for_fsdp": parameters.precompute_float8_dynamic_scale_for_fsdp,
            "filter_fqns": ["output"],
        }
        tables["quantize"] = {"linear": {"float8": float8}}
    return {name: without_none(table) for name, table in tables.items()}


def _named_model(branch: Branch, parameters: TitanParameters, findings: Findings) -> tuple[str, str] | None:
    """Return name and flavor of the model, or None and a fault if TorchTitan does not have it."""
    name, size = canonical_model(branch.model), parameters.model_size
    model, remedy = model_of(name), "Choose another model, or give a TOML of TorchTitan."
    if model is None:
        message = f"TorchTitan 0.2.2 has no model {shown(branch.model)}; of CVS's it has {listed(FLAVORS)}."
        findings.fault(branch.path, branch.model, message, remedy)
        return None
    flavor = flavor_of(model, size) if size else None
    if size and flavor is None:
        message = f"TorchTitan's {model} has no size {shown(size)}, only {listed(FLAVORS[model])}."
        findings.fault(key_path(branch.path, "model_size"), size, message, remedy)
    return (model, flavor) if flavor else None


def _converters(branch: Branch, parameters: TitanParameters, findings: Findings) -> list[str]:
    """Return the converters that TorchTitan knows, and warn of FP8 that is not trained in."""
    given = parameters.converters
    converters = _QUANTIZES.findall(" ".join(map(str, given)) if isinstance(given, list) else str(given or ""))
    asking = next((key for key in ("precision", "enable_float8") if _asks_for_fp8(parameters, key)), None)
    if asking and not converters:
        findings.warn(
            key_path(branch.path, asking),
            branch.values[asking],
            "This trains in BF16, as with CVS, which does not pass the FP8 converter to TorchTitan.",
            f"Set {asking} to {'bf16' if asking == 'precision' else 'false'}, or converters to "
            f'["{_FLOAT8}"] to train in FP8.',
        )
    return converters


def _asks_for_fp8(parameters: TitanParameters, key: str) -> bool:
    return getattr(parameters, key) in ("fp8", True)


def _assets(parameters: TitanParameters) -> str | None:
    """Return the folder of the tokenizer: the one that is named, or the one that it is fetched into."""
    folder, tokenizer = parameters.hf_assets_path, parameters.tokenizer_path
    if parameters.tokenizer_folder or not folder or not tokenizer:
        return parameters.tokenizer_folder or folder
    return posixpath.join(folder, posixpath.basename(tokenizer))


def _run(reading: _Reading, parameters: TitanParameters, branch: Branch) -> dict[str, t.Any]:
    """Return the table that says how to run."""
    config = reading.config
    own = {
        "gpu": branch.gpu,
        "torchtitan_root": config.torchtitan_root,
        "nic_type": config.nic_type,
        "tokenizer": None if parameters.tokenizer_folder else parameters.tokenizer_path,
        "result_dict": _results(parameters.result_dict),
    }
    return without_none({**run_table(reading, _VARIABLES), **own})


def _results(results: TitanResults | None) -> dict[str, t.Any]:
    given: dict[str, t.Any] = results.model_dump(exclude_none=True) if results else {}
    rate = given.pop("tokens_per_sec", None)
    return given if rate is None else {"tokens_per_gpu": rate, **given}
