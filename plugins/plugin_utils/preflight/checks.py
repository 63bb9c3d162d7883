# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks of a preflight: a plan and what its nodes said become the rows of one table."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Collection, Mapping, Sequence

from ..contracts import Plan
from .cells import RED, Cell, by_hand, grey, red
from .check_container import check_engine, check_image
from .check_network import SOCKET_VARIABLES, check_hostname, check_port, check_socket, clock_cells, proposed_interface
from .check_processors import check_gpus, check_idle, check_numa
from .check_rdma import check_gid, check_provider, check_rdma, proposed_gid_index
from .check_storage import cache_cells, check_disk, check_limits, check_mounts, check_shm
from .drift import drift_cells
from .look import Look

REACHED = "reached"

# In the order of the table's columns.
_OF_A_NODE: dict[str, Callable[[Look], Cell]] = {
    "gpus": check_gpus,
    "idle": check_idle,
    "numa": check_numa,
    "rdma": check_rdma,
    "provider": check_provider,
    "socket": check_socket,
    "hostname": check_hostname,
    "port": check_port,
    "limits": check_limits,
    "shm": check_shm,
    "disk": check_disk,
    "mounts": check_mounts,
    "engine": check_engine,
}
_REPEAT = by_hand("fix that; then repeat the preflight with --limit and the names of these nodes")
_OF_A_CONFIG = ("provider", "socket", "hostname", "port", "shm", "mounts", "cache", "image")
_NO_CONFIG = "there is no training config (-e training_config=FILE)"
CHECKS = (
    REACHED,
    *("gpus", "driver", "idle", "numa", "rdma", "gid", "provider", "firmware"),
    *("socket", "mtu", "hostname", "port", "clock"),
    *("limits", "shm", "disk", "mounts", "cache", "engine", "image", "kernel"),
)


def preflight(
    plan: Plan,
    facts: Mapping[str, Mapping[str, t.Any]],
    probe: str | None = None,
    only: Collection[str] | None = None,
    problems: Mapping[str, str] | None = None,
) -> dict[str, t.Any]:
    """Return ``rows`` (one for each node of the plan and check) and ``proposals``.

    ``facts`` maps names of nodes to what the module ``node_inspect`` returned; a node without any was not reached.
    ``probe`` is a file that rank 0 left in the data cache. ``proposals`` maps keys of the training config that it
    leaves open, or at ``auto``, to values that fit all nodes. ``only`` names the nodes to judge, None all.
    ``problems`` is why nodes could not be inspected.
    """
    looks = [Look(plan, node, facts[node["node"]]) for node in plan["nodes"] if node["node"] in facts]
    cells = _cells(looks, probe) if looks else {}
    rows = []
    for node in plan["nodes"]:
        name = node["node"]
        if only is not None and name not in only:
            continue
        if name not in facts:
            rows.append(red("no", _why_not(name, problems or {}), _REPEAT).row(name, REACHED))
        rows += [cells[check][name].row(name, check) for check in CHECKS if check in cells and name in facts]
    return {"rows": rows, "proposals": _proposals(looks)}


def _why_not(name: str, problems: Mapping[str, str]) -> str:
    said = " ".join(problems.get(name, "").removeprefix("Task failed: ").split())
    return f"the node could not be inspected: {said.rstrip('.') or 'Ansible says above why'}"


def _cells(looks: Sequence[Look], probe: str | None) -> dict[str, dict[str, Cell]]:
    proposed = proposed_gid_index([look for look in looks if look.uses_rdma])
    left_out = () if looks[0].has_config else _OF_A_CONFIG
    judged = {check: judge for check, judge in _OF_A_NODE.items() if check not in left_out}
    cells = {check: {look.name: judge(look) for look in looks} for check, judge in judged.items()}
    for check in ("driver", "firmware", "mtu", "kernel"):
        cells[check] = drift_cells(check, looks)
    if not looks[0].has_config:
        return {**cells, **_cells_of_machines(looks, cells, proposed)}
    images = drift_cells("image", looks)
    return {
        **cells,
        "gid": {look.name: check_gid(look, proposed) for look in looks},
        "clock": clock_cells(looks),
        "cache": cache_cells(looks, probe),
        "image": {look.name: _worse(images[look.name], check_image(look)) for look in looks},
    }


def _cells_of_machines(
    looks: Sequence[Look], cells: Mapping[str, dict[str, Cell]], proposed: int | None
) -> dict[str, dict[str, Cell]]:
    """Return the cells that are other ones without a training config: nodes are held against each other only."""
    alike = {check: drift_cells(check, looks) for check in ("gpus", "rdma")}
    return {
        **{check: {look.name: grey(_NO_CONFIG) for look in looks} for check in _OF_A_CONFIG},
        **{
            check: {name: _worse(found[name], cell) for name, cell in cells[check].items()}
            for check, found in alike.items()
        },
        "gid": {look.name: check_gid(look, proposed) for look in looks},
        "clock": clock_cells(looks),
    }


def _worse(drift: Cell, there: Cell) -> Cell:
    """Return what was found of a node itself, unless it is something else than on other nodes."""
    return drift if drift.status == RED else there


def _proposals(looks: Sequence[Look]) -> dict[str, t.Any]:
    multi_node = [look for look in looks if look.multi_node]
    if not multi_node or not multi_node[0].uses_nccl:
        return {}
    proposals: dict[str, t.Any] = {}
    interfaces = {proposed_interface(look) for look in multi_node}
    for variable, key in SOCKET_VARIABLES.items():
        if any(look.variable(variable) is None for look in multi_node) and len(interfaces) == 1:
            proposals[key] = next(iter(interfaces))
    with_rdma = [look for look in multi_node if look.uses_rdma]
    if any(look.variable("NCCL_IB_GID_INDEX") is None for look in with_rdma):
        proposals["nccl_ib_gid_index"] = proposed_gid_index(with_rdma)
    return {key: value for key, value in proposals.items() if value is not None}
