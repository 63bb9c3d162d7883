# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the arguments that a trainer prints as text with the plan: one row for each argument."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping

from ..contracts import Plan
from ..plan.job.workload import number_format
from .reasons import FAIL, INCONCLUSIVE, Reasons

# The texts of each argument in a log.
Texts = Mapping[str, list[str]]

_OFF = ("", "None", "none", "False")
_FORMAT_OF_TYPE = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
_KNOWN_FORMATS = frozenset(("fp8", "bf16", "fp16", "fp32"))


class Argument(t.NamedTuple):
    """An argument that a plan sets and a log prints. Both functions return None if the value is not stated.

    ``names`` are the argument's names in logs. ``same`` compares the printed value with the planned one.
    """

    name: str
    names: tuple[str, ...]
    printed: Callable[[Texts], str | None]
    planned: Callable[[Plan], str | None]
    same: Callable[[str, str], bool] = str.__eq__


def judge_arguments(plan: Plan, node: str, texts: Texts, agrees: list[str], reasons: Reasons) -> None:
    """Note each argument in a node's log that differs from the plan; add those that agree to ``agrees``."""
    compared = {name for argument in ARGUMENTS for name in argument.names}
    for name, values in texts.items():
        if len(values) > 1 and name in compared:
            reasons.argue(INCONCLUSIVE, "settings_differ", node, case="argument", argument=name, found=values)
    if plan.get("rehearsal"):
        return
    for argument in ARGUMENTS:
        said = {name: texts[name] for name in argument.names if len(texts.get(name, ())) == 1}
        printed, planned = argument.printed(said), argument.planned(plan)
        if printed is None or planned is None:
            continue
        if argument.same(printed, planned):
            agrees.append(f"{argument.name} {printed}")
        else:
            said_so = {"argument": argument.name, "found": printed, "planned": planned}
            reasons.argue(FAIL, "other_workload", node, case="argument", **said_so)


def _precision_of(texts: Texts) -> str | None:
    """Return the number format of the matrix multiplications: Megatron-LM's flags, or MaxText's types."""
    if texts.get("fp8", _OFF)[0] not in _OFF:
        return "fp8"
    if ("bf16" in texts and "fp16" in texts) or texts.get("bf16") == ["True"]:
        flags = (name for name in ("bf16", "fp16") if texts.get(name) == ["True"])
        return next(flags, "fp32")
    quantization = texts.get("quantization", [""])[0]
    if quantization not in _OFF:
        found = number_format(quantization)
        return found if found in _KNOWN_FORMATS else None
    return _FORMAT_OF_TYPE.get(texts["dtype"][0]) if "dtype" in texts and "quantization" in texts else None


def _planned_precision(plan: Plan) -> str | None:
    workload = plan.get("workload")
    precision = workload["precision"] if workload else None
    return precision if precision in _KNOWN_FORMATS else None


def _recompute_of(texts: Texts) -> str | None:
    granularity = texts.get("recompute_granularity", [None])[0]
    # Scripts turn on selective recomputation by themselves.
    return None if granularity in (None, "selective") else "off" if granularity in _OFF else "on"


def _planned_recompute(plan: Plan) -> str | None:
    recompute = plan["parameters"].get("recompute")
    return None if recompute is None else "on" if recompute else "off"


def _tokenizer_of(texts: Texts) -> str | None:
    name = texts.get("tokenizer_model", [""])[0]
    return None if name in _OFF else name


def _same_tokenizer(printed: str, planned: str) -> bool:
    """Compare the last part of the name only: a node may have a local copy."""
    return printed.rstrip("/").rpartition("/")[2].lower() == planned.rstrip("/").rpartition("/")[2].lower()


ARGUMENTS = (
    Argument("precision", ("fp8", "bf16", "fp16", "dtype", "quantization"), _precision_of, _planned_precision),
    Argument("recomputation", ("recompute_granularity",), _recompute_of, _planned_recompute),
    Argument(
        "tokenizer",
        ("tokenizer_model",),
        _tokenizer_of,
        lambda plan: plan["parameters"].get("tokenizer"),
        _same_tokenizer,
    ),
)
