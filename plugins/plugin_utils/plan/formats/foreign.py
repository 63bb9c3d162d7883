# SPDX-License-Identifier: GPL-3.0-or-later
"""Recognizes files of other kinds that are given as a training config, with one sentence on each."""

from __future__ import annotations

import json
import re
import tomllib
import typing as t
from collections.abc import Callable, Sequence

from ...text.words import listed, shown
from ..config.findings import Findings
from .cvs2.format import FRAMEWORKS
from .launch_scripts import kind_of_script

_EXAMPLES = "examples/ has training configs to start from."
_GIVE_ONE = f"Give a training config; {_EXAMPLES}"
_ANOTHER = f"Give a config of CVS for another trainer; {_EXAMPLES}"
_TRAINERS_OWN = re.compile(
    r"^(base_config|base_output_directory|per_device_batch_size|max_target_length|run_name|dataset_type)\s*:",
    re.MULTILINE,
)
_SHAPES = re.compile(r"^(base_emb_dim|base_num_query_heads|base_num_decoder_layers|base_mlp_dim)\s*:", re.MULTILINE)
_ACCELERATE = re.compile(r"^(compute_environment|distributed_type)\s*:", re.MULTILINE)
_LONGEST_LINE_OF_TOML = 500
_Data = dict[str, t.Any]


def fault_foreign(
    text: str, source: str, findings: Findings, *, named: bool, recognized: bool, known: Sequence[str] = ()
) -> bool:
    """Report the kind of a file if no framework here reads it, and return whether that was reported.

    ``named`` means that the user sets a framework, ``recognized`` that a framework recognizes the file. ``known`` lists
    the kinds of training configs in words.
    """
    found = _kind_of(text, source, named=named, recognized=recognized)
    if found:
        remedy = f"Known are {listed(known)}; {_EXAMPLES}" if known and found[1] == _GIVE_ONE else found[1]
        findings.fault("training_config", source, f"{source} {found[0]}.", remedy)
    return found is not None


def _kind_of(text: str, source: str, *, named: bool, recognized: bool) -> tuple[str, str] | None:
    if not text.strip("\ufeff \t\r\n"):
        return "is empty", _GIVE_ONE
    if not recognized and (script := kind_of_script(text, source, _GIVE_ONE)):
        return script
    data = _parsed(json.loads, text.removeprefix("\ufeff"))
    if isinstance(data, dict):
        return _kind_of_json(data, left_alone=named or recognized)
    if data is not None or text.lstrip("\ufeff \t\r\n").startswith("{") or source.endswith(".json"):
        return None  # reading it reports the line where it is not JSON, or that it is not an object
    # The parser's time grows with the square of the number of parts of a key, which are on one line.
    table = _parsed(tomllib.loads, text) if max(map(len, text.split("\n"))) <= _LONGEST_LINE_OF_TOML else None
    if table and not recognized:
        return (
            "is TOML, but not TorchTitan's: that has at least two tables such as [model], [training] and [parallelism]",
            _GIVE_ONE,
        )
    return _kind_of_yaml(text, left_alone=named or recognized)


def _kind_of_yaml(text: str, *, left_alone: bool) -> tuple[str, str] | None:
    if len(set(_TRAINERS_OWN.findall(text))) > 1:
        return (
            "is MaxText's own config, not a CVS config for MaxText",
            f"Put its keys into a branch of model_params; {_EXAMPLES}",
        )
    if len(set(_SHAPES.findall(text))) > 1:
        return (
            "is MaxText's preset of a model, not a training config",
            f"Give the name of the model as model_name in a branch of model_params; {_EXAMPLES}",
        )
    if len(set(_ACCELERATE.findall(text))) > 1:
        return "is a config of Hugging Face's Accelerate, which is not supported", _GIVE_ONE
    return None if left_alone else ("is not a known kind of training config", _GIVE_ONE)


def _parsed(parse: Callable[[str], t.Any], text: str) -> t.Any:
    try:
        return parse(text)
    except (ValueError, RecursionError):
        return None


def _kind_of_json(data: _Data, *, left_alone: bool) -> tuple[str, str] | None:
    if "schema_version" in data and "run_id" not in data:
        if str(data.get("framework")) in FRAMEWORKS:
            return None
        of = f", framework {shown(data['framework'])}" if "framework" in data else ""
        return (
            f"is in a later format of CVS (schema_version {shown(data['schema_version'])}{of}), which is not "
            "supported yet",
            (f"{_ANOTHER} You can give its thresholds file as training_thresholds."),
        )
    if "config" not in data and "model_params" not in data:
        for is_it, what, remedy in _OTHERS:
            if is_it(data):
                return what, remedy
        held = f"it contains {listed(data)}" if data else "it contains nothing"
        what = f"has neither a config nor a model_params section: {held}"
        return None if left_alone else (what, _GIVE_ONE)
    return None


def _holds_thresholds(data: _Data) -> bool:
    cells = [value for key, value in data.items() if isinstance(value, dict) and key != "scaling_baseline"]
    bounds = [bound for cell in cells for bound in cell.values()]
    return bool(bounds) and all(isinstance(bound, dict) and "kind" in bound for bound in bounds)


# For each kind: how to recognize it, its description, and the remedy.
_OTHERS: tuple[tuple[Callable[[_Data], bool], str, str], ...] = (
    (
        lambda data: {"run_id", "nodes"} <= data.keys(),
        "is the plan of a run",
        "Give the training config it was made from, which its config_file names.",
    ),
    (
        _holds_thresholds,
        "is a thresholds file, which sets how runs are judged but not how they train",
        "Give the training config that has it in threshold_json, or a training config and this file as "
        "training_thresholds.",
    ),
    (
        lambda data: "username" in data and not {"node_dict", "nodes"}.isdisjoint(data),
        "is a cluster file",
        "Give it as an inventory, with -i.",
    ),
    (
        lambda data: not {"architectures", "model_type"}.isdisjoint(data),
        "describes a model for Hugging Face's transformers",
        _GIVE_ONE,
    ),
    (
        lambda data: not {"tokenizer_class", "added_tokens", "added_tokens_decoder"}.isdisjoint(data),
        "describes a tokenizer",
        _GIVE_ONE,
    ),
    (
        lambda data: not {"zero_optimization", "train_micro_batch_size_per_gpu"}.isdisjoint(data),
        "is a config of DeepSpeed, which is not supported",
        _GIVE_ONE,
    ),
)
