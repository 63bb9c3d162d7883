# SPDX-License-Identifier: GPL-3.0-or-later
"""All facts about a node in one go: the quick ones are read at once, the slow ones side by side."""

from __future__ import annotations

import time
import typing as t
from collections.abc import Callable
from functools import partial

from .adapter_tools import tool_facts
from .amd import amd_tool
from .clock import clock_facts
from .engines import ENGINES, engine_facts, silent_engine
from .gpus import gpu_facts, with_sensors, with_tool
from .limits import limit_facts, path_facts
from .network import hostname_facts, in_one_network, interface_facts, master_facts, port_problem
from .providers import provider_libraries, verbs_facts
from .rdma import rdma_devices
from .sensors import measured
from .settings import interfaces_of, setting_facts
from .system import system_facts
from .tools import ToolError, together

# Longer than any tool is given: a task that is not done by then hangs, for instance in a dead network file system.
_SECONDS = 10.0


def inspect(
    paths: list[str],
    master_address: str | None = None,
    master_port: int | None = None,
    image: str | None = None,
    root: str = "/",
) -> dict[str, t.Any]:
    """Return everything to be known of this node before a training; nothing is changed.

    ``paths`` are absolute. Files are read below ``root``; tools, names, limits and the clock are always this machine's.
    The keys are the keys of `system_facts`, and ``gpus``, ``rdma``, ``network``, ``limits``, ``settings``, ``paths``,
    ``engines``, ``clock``, and ``problems``: everything that could not be found out, by its name, with the reason.
    """
    began = time.time()
    system = system_facts(root)
    tasks: dict[str, Callable[[], t.Any]] = {
        "gpus": partial(gpu_facts, root),
        "amd_tool": amd_tool,
        "sensors": partial(measured, root),
        "verbs": verbs_facts,
        "interfaces": interface_facts,
        "hostname": partial(hostname_facts, system["hostname"] or ""),
        **{engine: partial(engine_facts, engine, image, root) for engine in ENGINES},
        **{path: partial(path_facts, root, path) for path in paths},
    }
    devices = rdma_devices(root)
    if devices:
        tasks["adapters"] = partial(tool_facts, devices)
    if master_address:
        tasks["master"] = partial(master_facts, master_address)
    found = together(tasks, _SECONDS)
    problems = _problems(found, bool(devices))
    known = {name: None if isinstance(value, ToolError) else value for name, value in found.items()}
    return {
        **system,
        "gpus": with_sensors(with_tool(known["gpus"], found["amd_tool"]), found["sensors"]) if known["gpus"] else None,
        "rdma": {"devices": devices, "libraries": provider_libraries(root), "verbs": known["verbs"]},
        "network": {
            "interfaces": known["interfaces"],
            "hostname": known["hostname"],
            "master": known.get("master"),
            "master_port_problem": port_problem(master_port) if master_port else None,
        },
        "limits": limit_facts(root),
        "settings": {
            **setting_facts(root, known["gpus"]["devices"] if known["gpus"] else [], devices, known.get("adapters")),
            "shared_rails": in_one_network(known["interfaces"] or {}, interfaces_of(devices)),
        },
        "paths": {path: known[path] for path in paths},
        "engines": {
            engine: silent_engine(problems[engine]) if engine in problems else known[engine] for engine in ENGINES
        },
        "problems": problems,
        "clock": clock_facts(began),
    }


def _problems(found: dict[str, t.Any], has_rdma: bool) -> dict[str, str]:
    """Return why tasks failed. Tools are reported with the GPUs; without RDMA, libibverbs may be missing."""
    quiet = {"amd_tool", "sensors"} if has_rdma else {"amd_tool", "sensors", "verbs"}
    return {name: str(value) for name, value in found.items() if isinstance(value, ToolError) and name not in quiet}
