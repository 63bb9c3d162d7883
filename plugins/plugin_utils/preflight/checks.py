# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks of a preflight: a plan and its nodes' facts become the rows of one table."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Collection, Mapping, Sequence

from ...module_utils.node.phase import NodeError
from ..contracts import Call, Plan, Preflight
from ..text.problems import SOME_CALL, UNREACHABLE
from ..unreachable import UNKNOWN_CAUSE
from .cells import RED, Cell, grey, red
from .check_container import check_engine, check_image
from .check_network import (
    SOCKET_VARIABLES,
    check_hostname,
    check_path,
    check_port,
    check_socket,
    clock_cells,
    proposed_interface,
)
from .check_processors import check_gpus, check_idle, check_numa
from .check_rdma import check_provider, check_rdma, gid_cells, proposed_gid_index
from .check_settings import SETTINGS
from .check_storage import cache_cells, check_disk, check_limits, check_mounts, check_shm, check_token
from .drift import drift_cells
from .facts import Facts, believed
from .look import Look

REACHED = "reached"

# What judges all nodes of a plan: the cell of each by its name.
Judge = Callable[[Sequence[Look]], dict[str, Cell]]


def _each(check: Callable[[Look], Cell]) -> Judge:
    """Return the judge of each node by itself."""
    return lambda looks: {look.name: check(look) for look in looks}


def _alike(name: str, check: Callable[[Look], Cell | None] | None = None) -> Judge:
    """Return the comparison between nodes; with a check, a node that does not differ is judged by itself.

    Where the check has nothing to say, the comparison counts.
    """

    def judge(looks: Sequence[Look]) -> dict[str, Cell]:
        cells = drift_cells(name, looks)
        by_itself = {look.name: check(look) for look in looks if check and cells[look.name].status != RED}
        return cells | {name: cell for name, cell in by_itself.items() if cell}

    return judge


# In the order of the table's columns.
_JUDGES: dict[str, Judge] = {
    "gpus": _alike("gpu_limits", check_gpus),
    "driver": _alike("driver"),
    "idle": _each(check_idle),
    "numa": _each(check_numa),
    "rdma": _each(check_rdma),
    "gid": gid_cells,
    "provider": _each(check_provider),
    "firmware": _alike("firmware"),
    "socket": _each(check_socket),
    "mtu": _alike("mtu", check_path),
    "hostname": _each(check_hostname),
    "port": _each(check_port),
    "clock": clock_cells,
    "limits": _each(check_limits),
    "shm": _each(check_shm),
    "disk": _each(check_disk),
    "mounts": _each(check_mounts),
    "token": _each(check_token),
    "cache": cache_cells,
    "engine": _each(check_engine),
    "image": _alike("image", check_image),
    "kernel": _alike("kernel"),
    **{name: _each(check) for name, check in SETTINGS.items()},
}
_OF_A_CONFIG = ("provider", "socket", "hostname", "port", "shm", "mounts", "token", "cache", "image")
# Without a training config nothing is required, so nodes are compared with each other.
_JUDGES_OF_MACHINES = _JUDGES | {
    "gpus": _alike("gpus", check_gpus),
    "rdma": _alike("rdma", check_rdma),
    **dict.fromkeys(_OF_A_CONFIG, _each(lambda _: grey("no_config"))),
}
CHECKS = (REACHED, *_JUDGES)


def preflight(
    plan: Plan,
    facts: Mapping[str, Mapping[str, t.Any]],
    probe: str | None = None,
    only: Collection[str] | None = None,
    errors: Mapping[str, NodeError] | None = None,
    call: Call = SOME_CALL,
) -> Preflight:
    """Return ``rows`` (one for each node of the plan and check) and ``proposals``.

    ``facts`` maps nodes to their `inspection.facts`; ``errors`` has the reason for each node without any. ``probe`` is
    a file that rank 0 left in the data cache. ``proposals`` maps keys of the training config that it leaves open, or at
    ``auto``, to values that fit all nodes. ``only`` names the nodes to judge; without it, all are judged. ``call``
    completes the commands that fix a node.
    """
    known: dict[str, Facts] = {}
    wrong = dict(errors or {})
    for name, said in facts.items():
        try:
            known[name] = believed(said)
        except ValueError as error:
            wrong[name] = NodeError(str(error))
    looks = [Look(plan, node, known[node["node"]], probe) for node in plan["nodes"] if node["node"] in known]
    judges = _JUDGES if not looks or looks[0].has_config else _JUDGES_OF_MACHINES
    cells = {check: judge(looks) for check, judge in judges.items()} if looks else {}
    rows = []
    for node in plan["nodes"]:
        name = node["node"]
        if only is not None and name not in only:
            continue
        if name not in known:
            rows.append(_not_inspected(wrong[name]).row(name, REACHED, call))
        rows += [of_check[name].row(name, check, call) for check, of_check in cells.items() if name in known]
    return {"rows": rows, "proposals": _proposals(looks)}


def _not_inspected(error: NodeError) -> Cell:
    """Return the cell of a node that was not reached, or could not be inspected."""
    first = next(iter(error.problems), None)
    code, said = (first["code"], first["values"].get("said")) if first else ("", None)
    if code in UNREACHABLE:
        return red("unreachable", code, said=said)
    if code == UNKNOWN_CAUSE:
        return red("unreachable", "" if said else "silent", said=said)
    return red("not_inspected", said=str(error), remedy=code)


def _proposals(looks: Sequence[Look]) -> dict[str, str | int]:
    multi_node = [look for look in looks if look.multi_node]
    if not multi_node or not multi_node[0].uses_nccl:
        return {}
    proposals: dict[str, str | int | None] = {}
    interfaces = {proposed_interface(look) for look in multi_node}
    for variable, key in SOCKET_VARIABLES.items():
        if any(look.variable(variable) is None for look in multi_node) and len(interfaces) == 1:
            proposals[key] = next(iter(interfaces))
    with_rdma = [look for look in multi_node if look.uses_rdma]
    if any(look.gid_index is None for look in with_rdma):
        proposals["nccl_ib_gid_index"] = proposed_gid_index(with_rdma)
    return {key: value for key, value in proposals.items() if value is not None}
