# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a node's processors: GPUs, the processes on them, NUMA."""

from __future__ import annotations

import typing as t

from ...module_utils.node.accelerators import OPTION, is_other_model, trains_on_cpus
from .cells import Cell, green, grey, not_known, red
from .facts import Gpus
from .look import Look

_MODULES = {"amd": "amdgpu", "nvidia": "nvidia"}


def check_gpus(look: Look) -> Cell:
    """As many GPUs as the plan uses, of the model that it is for."""
    if trains_on_cpus(look.plan):
        return grey("gpus_not_used", "" if look.has_config else "inventory")
    device = look.plan["parameters"].get("device", "GPU")
    if device != "GPU":
        return grey("device_not_supported", device=device)
    gpus = look.facts["gpus"]
    if gpus is None:
        return not_known(look.facts["problems"].get("gpus"))
    if not look.plan.get("require_gpu", True):
        return grey("gpus_not_required", gpus=models_of(gpus), option=OPTION)
    wanted = look.plan["parameters"].get("gpus_per_node")
    return _check_gpus_of_machine(gpus) if wanted is None else _check_wanted_gpus(look, gpus, wanted)


def _check_wanted_gpus(look: Look, gpus: Gpus, wanted: int) -> Cell:
    by = "plan" if look.has_config else "inventory"
    names = {device["name"] for device in gpus["devices"] if device["name"]}
    values = {"gpus": models_of(gpus), "wanted": wanted}
    if len(gpus["devices"]) < wanted:
        if gpus["on_bus"]:
            return _missing(gpus, f"{by}_on_bus", on_bus=gpus["on_bus"], **values)
        return _missing(gpus, by, **values)
    strangers = sorted(name for name in names if is_other_model(look.plan["gpu"], name))
    if strangers:
        return red("other_gpu", by, gpus=models_of(gpus), wanted=look.plan["gpu"], other=strangers[0])
    return green("gpus", gpus=models_of(gpus))


def _check_gpus_of_machine(gpus: Gpus) -> Cell:
    found, on_bus = models_of(gpus), gpus["on_bus"] or 0
    if len(gpus["devices"]) < on_bus:
        return _missing(gpus, gpus=found, on_bus=on_bus)
    return green("gpus", gpus=found) if gpus["devices"] else grey("no_gpu", gpus=found)


def models_of(gpus: Gpus) -> dict[str, t.Any]:
    """Return the models of the driver's GPUs, and how many there are of each."""
    models = sorted({device["name"] for device in gpus["devices"] if device["name"]})
    return {"count": len(gpus["devices"]), "models": models}


def _missing(driver: Gpus, case: str = "", /, **values: t.Any) -> Cell:
    module = _MODULES.get(driver["vendor"] or "")
    remedy = ("kernel_log" if driver["devices"] else "load_driver") if module else ""
    return red("gpus_missing", case, remedy=remedy, module=module, **values)


def check_idle(look: Look) -> Cell:
    """Nobody else computes on the GPUs."""
    gpus = look.facts["gpus"]
    if not gpus or not gpus["devices"]:
        return grey("no_gpu", gpus={"count": 0, "models": []})
    processes = gpus["processes"]
    if processes is None:
        return grey("unknown", "all_said", said=gpus["problems"])
    if not processes:
        return green("gpus_idle")
    remedy = "run" if processes[0]["run_id"] else ""
    return red("gpus_busy", remedy=remedy, count=len(processes), processes=[dict(one) for one in processes])


def check_numa(look: Look) -> Cell:
    """The kernel does not move memory between NUMA nodes while GPUs work on it."""
    auto_balancing = look.facts["numa"]["auto_balancing"]
    if auto_balancing is None:
        return grey("numa_not_balanced")
    return green("numa_off") if auto_balancing == 0 else red("numa_on")
