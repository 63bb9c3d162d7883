# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a log's model matches the plan and the log's own steps: parameters, parallel sizes, FLOPs."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Mapping

from ..contracts import Plan, Trainer
from ..text.numbers import billions
from .facts import trains_on_cpus
from .reasons import FAIL, INCONCLUSIVE, Reasons

if t.TYPE_CHECKING:
    import pandas as pd

# Models are counted with one embedding table or two, and with their vocabulary padded or not.
_COUNTED_OTHERWISE = 1.5
# Trainers print billions of parameters and TFLOPs of a step with two digits behind the point.
_LEAST_BILLIONS, _LEAST_TFLOPS = 0.05, 1.0
_RATE_TOLERANCE = 0.05
_PARALLEL = ("tensor_parallelism", "pipeline_parallelism", "data_parallelism", "context_parallelism")
_SPLIT_BY = ("tensor_parallelism", "pipeline_parallelism", "expert_parallelism")


def judge_parameters(plan: Plan, node: str, trainer: Trainer, agrees: list[str], reasons: Reasons) -> None:
    """Note a model whose size is not the planned one, which CPUs could not train."""
    workload, settings = plan.get("workload"), trainer["settings"]
    planned = (workload.get("parameters") or 0) / 1e9 if workload else 0.0
    if plan.get("rehearsal") or planned < _LEAST_BILLIONS:
        return
    found = list(settings.get("billions_of_parameters", []))
    parameters: Mapping[str, t.Any] = plan["parameters"]
    if all(parameters.get(name) in (None, 1) for name in _SPLIT_BY):
        found += [value / 1e9 for value in settings.get("parameters_of_rank", [])]
    other = [value for value in found if not 1 / _COUNTED_OTHERWISE < value / planned < _COUNTED_OTHERWISE]
    if other and trains_on_cpus(plan):
        reasons.remark("model_on_cpus", node, found=other[0], planned=planned)
    elif other:
        reasons.argue(FAIL, "other_workload", node, case="parameters", found=other[0], planned=planned)
    elif found:
        agrees.append(f"{billions(found[0])} parameters")


def judge_parallelism(node: str, trainer: Trainer, reasons: Reasons) -> None:
    """Note a log whose parallel sizes do not match its number of ranks, or do not divide its batch."""
    ranks, settings = trainer["world_size"], trainer["settings"]
    if not ranks or "data_parallelism" not in settings or any(len(settings.get(name, ())) > 1 for name in _PARALLEL):
        return
    made = math.prod(settings[name][0] for name in _PARALLEL if name in settings)
    if made != ranks:
        reasons.argue(INCONCLUSIVE, "settings_differ", node, case="parallel_sizes", found=made, other=ranks)
    batch, micro = (settings.get(name, ()) for name in ("global_batch_size", "micro_batch_size"))
    data = settings["data_parallelism"][0]
    if len(batch) == len(micro) == 1 and batch[0] % (micro[0] * data):
        values = {"batch": batch[0], "micro_batch": micro[0], "ranks": data}
        reasons.argue(INCONCLUSIVE, "settings_differ", node, case="micro_batches", **values)


def judge_flops_of_step(node: str, trainer: Trainer, rows: pd.DataFrame, agrees: list[str], reasons: Reasons) -> None:
    """Note TFLOP/s × step time that differs from the TFLOPs of a step that the trainer prints at the start."""
    said = trainer["settings"].get("tflops_of_step", [])
    if len(said) != 1 or said[0] < _LEAST_TFLOPS or not {"tflops_per_gpu", "step_time_ms"} <= set(rows.columns):
        return
    made = float((rows["tflops_per_gpu"] * rows["step_time_ms"])[rows["counted"]].median()) / 1000.0
    if not math.isfinite(made):
        return
    if abs(made - said[0]) > _RATE_TOLERANCE * said[0]:
        reasons.argue(INCONCLUSIVE, "rates_disagree", node, case="flops_of_step", found=made, planned=said[0])
    else:
        agrees.append(f"{made:.6g} TFLOPs in a step")
