# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a node has the accelerator that a plan is for. Only evidence from the kernel counts against a node."""

from __future__ import annotations

import re
import typing as t

from .inspection.gpus import first_vendor, has_no_accelerator
from .problems import Problem, problem

OPTION = "training_require_gpu"
# A word in the name of a device, or of a plan's accelerator, that is a model: AMD Instinct MI300X, NVIDIA H100 80GB
# HBM3, Tesla V100-SXM2-16GB, TPU v5p, trn2.48xlarge.
_MODEL = re.compile("mi[0-9]{2,3}[a-z]?|g?[abhklpv][0-9]{2,4}[a-z]?|[lt]4|v[2-9][a-z]?|trn[0-9]|geforce|rtx")


def trains_on_cpus(plan: t.Mapping[str, t.Any]) -> bool:
    """Return whether a training was planned for CPUs: a rehearsal, or a config whose accelerator is ``cpu``.

    Such a run tests the launch, not the model, and does not use NCCL, although the plan sets its variables. Any other
    training needs accelerators: their absence is no excuse.
    """
    return bool(plan.get("rehearsal")) or (plan["gpu"] or "").casefold() == "cpu"


def required_gpu(plan: t.Mapping[str, t.Any]) -> str | None:
    """Return the accelerator that each node of a plan must have, empty for any; None if a node needs none."""
    return plan["gpu"] if plan.get("require_gpu", True) and not trains_on_cpus(plan) else None


def is_other_model(wanted: str, name: str) -> bool:
    """Return whether a device is another model than wanted, by its name; MI300 and MI300X are the same.

    Names without a known model are no evidence.
    """
    asked, found = (_models_in(one) for one in (wanted, name))
    return bool(asked and found) and not asked & found


def _models_in(name: str) -> set[str]:
    words = re.split("[^a-z0-9]+", name.casefold())
    return {re.sub("x$", "", word) for word in words if _MODEL.fullmatch(word)}


def accelerator_problems(wanted: str | None, root: str = "/") -> list[Problem]:
    """Return the problem of a machine that has no accelerator, or only other models than a plan requires."""
    if wanted is None:
        return []
    devices = first_vendor(root)[1]
    others = [name for name in (device["name"] for device in devices) if name and is_other_model(wanted, name)]
    if others and len(others) == len(devices):
        return [problem("other_gpu", wanted=wanted, found=sorted(set(others)), option=OPTION)]
    if not devices and has_no_accelerator(root):
        return [problem("no_gpu", wanted=wanted or "GPUs", option=OPTION)]
    return []
