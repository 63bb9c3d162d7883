# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a node's processors: GPUs, what runs on them, NUMA."""

from __future__ import annotations

from ..text.words import counted, listed
from .cells import Cell, by_hand, green, grey, red
from .facts import Gpus, Process
from .look import Look

_MODULES = {"amd": "amdgpu", "nvidia": "nvidia"}
_SHOWN = 3
NO_GPU = "no GPU"
_LONGEST_COMMAND = 80


def check_gpus(look: Look) -> Cell:
    """As many GPUs as the plan uses, of the model that it is for."""
    if look.plan["gpu"] == "cpu":
        return grey("the plan trains on CPUs" if look.has_config else "the inventory has CPUs (training_gpu)")
    device = look.plan["parameters"].get("device", "GPU")
    if device != "GPU":
        return grey(f"the inspection does not support {device}s")
    gpus = look.facts["gpus"]
    if gpus is None:
        return grey(look.facts["problems"].get("gpus", "unknown"))
    wanted = look.plan["parameters"].get("gpus_per_node")
    return _check_gpus_of_machine(gpus) if wanted is None else _check_wanted_gpus(look, gpus, wanted)


def _check_wanted_gpus(look: Look, gpus: Gpus, wanted: int) -> Cell:
    by = "the plan uses" if look.has_config else "the inventory expects"
    names = {device["name"] for device in gpus["devices"] if device["name"]}
    found = gpus_in_words(gpus)
    if len(gpus["devices"]) < wanted:
        on_bus = f"; the PCI bus shows {gpus['on_bus']}" if gpus["on_bus"] else ""
        reason = f"{by} {counted(wanted, 'GPU')} per node, but the driver reports {len(gpus['devices'])}{on_bus}"
        return red(found, reason, _command_for_missing(gpus))
    model = look.plan["gpu"].casefold().removesuffix("x")
    strangers = sorted(name for name in names if model not in name.casefold())
    remedy = "select the config's branch for this GPU" if look.has_config else "correct it in the inventory"
    if strangers and gpus["vendor"] in _MODULES:
        return red(
            found,
            f"{'the plan is for' if look.has_config else 'the inventory expects'} {look.plan['gpu']}, but the node "
            f"has {strangers[0]}",
            by_hand(f"{remedy} (training_gpu)"),
        )
    return green(found)


def _check_gpus_of_machine(gpus: Gpus) -> Cell:
    found, on_bus = gpus_in_words(gpus), gpus["on_bus"] or 0
    if len(gpus["devices"]) < on_bus:
        reason = f"the PCI bus shows {on_bus} GPUs, but the driver reports {len(gpus['devices'])}"
        return red(found, reason, _command_for_missing(gpus))
    return green(found) if gpus["devices"] else grey(found)


def gpus_in_words(gpus: Gpus) -> str:
    """Return how many GPUs of which models the driver offers."""
    names = sorted({device["name"] for device in gpus["devices"] if device["name"]})
    return f"{len(gpus['devices'])} × {' and '.join(names) or 'GPU'}" if gpus["devices"] else NO_GPU


def _command_for_missing(gpus: Gpus) -> str:
    module = _MODULES.get(gpus["vendor"] or "")
    if module and not gpus["devices"]:
        return f"modprobe {module}"
    look = f"dmesg | grep -i {module}" if module else "lspci | grep -Ei 'display|3d|accelerator'"
    return by_hand("find the missing GPUs", look)


def check_idle(look: Look) -> Cell:
    """Nobody else computes on the GPUs."""
    gpus = look.facts["gpus"]
    if not gpus or not gpus["devices"]:
        return grey(NO_GPU)
    processes = gpus["processes"]
    if processes is None:
        return grey("; ".join(gpus["problems"]))
    if not processes:
        return green("idle")
    users = listed(map(_process_in_words, processes), _SHOWN)
    return red(f"{len(processes)} busy", f"the GPUs are in use by {users}", _command_for(processes[0]))


def _process_in_words(process: Process) -> str:
    owner = f"run {process['run_id']}" if process["run_id"] else process["user"]
    return f"{process['command'][:_LONGEST_COMMAND]} (pid {process['pid']}, {owner})"


def _command_for(process: Process) -> str:
    if process["run_id"]:
        return f"ansible-playbook playbooks/stop.yml -i INVENTORY -e training_run_id={process['run_id']}"
    return by_hand("ask its owner to stop it", f"ps -fp {process['pid']}")


def check_numa(look: Look) -> Cell:
    """The kernel does not move memory between NUMA nodes while GPUs work on it."""
    auto_balancing = look.facts["numa"]["auto_balancing"]
    if auto_balancing is None:
        return grey("this kernel has no NUMA auto-balancing")
    if auto_balancing == 0:
        return green("auto-balancing off")
    return red(
        "auto-balancing on",
        "NUMA auto-balancing is on, and its page migration stalls GPUs",
        "sysctl -w kernel.numa_balancing=0   # playbooks/node_prep.yml makes it permanent",
    )
