# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the room that a training needs (disks, shared memory, limits), and of its mounts."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from ...module_utils.node.rdma_library import HOST_LIBRARY, MountProblem, mount_problem
from ...module_utils.node.room import LEAST_BYTES
from .cells import Cell, green, grey, red
from .facts import Path
from .look import Look
from .needs import cache_folder

LEAST_INODES = 10_000
UNLIMITED = -1
_UNITS = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def bytes_of(size: str) -> int:
    """Return the bytes of a size such as ``128G``, read like docker and podman do."""
    number = size.rstrip("bBkKmMgGtT")
    return int(number) * _UNITS[size[len(number) :].casefold()]


def check_disk(look: Look) -> Cell:
    """There is room in the run's output folders, and for an image that is still to be fetched."""
    places = {path: look.path(path) for path in (look.node["run_folder"], cache_folder(look.plan, look.node)) if path}
    engine = look.facts["engines"].get(look.engine) if look.engine else None
    if engine and engine["storage"] and engine["image"] is None:
        places[engine["storage"]["path"]] = t.cast("Path", {**engine["storage"], "writable": True})
    free = []
    for path, facts in places.items():
        if facts is None:
            return red("disk_unknown", path=path, said=look.facts["problems"].get(path, "unknown"))
        problem = _room_problem(path, facts)
        if problem:
            return problem
        free.append(facts["free_bytes"] or 0)
    return green("disk", free=min(free))


def _room_problem(path: str, facts: Path) -> Cell | None:
    free, inodes = facts["free_bytes"], facts["free_inodes"]
    where = {"path": path, "nearest": facts["nearest"]}
    if not facts["writable"]:
        return red("disk_read_only", **where)
    if free is not None and free < LEAST_BYTES:
        return red("disk_full", free=free, least=LEAST_BYTES, **where)
    if inodes is not None and inodes < LEAST_INODES:
        return red("disk_without_inodes", inodes=inodes, least=LEAST_INODES, **where)
    return None


def check_shm(look: Look) -> Cell:
    """The shared memory is as large as the config asks for, if the container uses the node's."""
    options, total = look.node["container_options"], look.facts["limits"]["shm"]["total_bytes"]
    if total is None:
        return grey("unknown")
    if look.engine is None or options.get("ipc") != "host":
        return green("shared_memory", total=total)
    wanted = bytes_of(options["shm_size"])
    if total >= wanted:
        return green("shared_memory", total=total)
    return red("shared_memory_small", total=total, wanted=wanted, size=options["shm_size"])


def check_limits(look: Look) -> Cell:
    """Memory can be locked for RDMA, and as many files opened as the plan needs."""
    limits = look.facts["limits"]
    if look.engine is None:
        return _memlock_of_login(look)
    wanted = look.node["container_options"].get("ulimits", {})
    nofile = int(wanted.get("nofile", "0").rpartition(":")[2])
    if limits["nr_open"] is not None and nofile > limits["nr_open"]:
        return red("open_files", wanted=nofile, allowed=limits["nr_open"])
    if look.engine == "podman" and limits["uid"] != 0:
        return _memlock_of_login(look)
    return green("limits_of_container")


def _memlock_of_login(look: Look) -> Cell:
    hard = look.facts["limits"]["memlock"]["hard"]
    if hard == UNLIMITED:
        return green("memlock")
    return red("memlock_small", limit=hard) if look.uses_rdma else grey("memlock", "no_rdma", limit=hard)


def check_mounts(look: Look) -> Cell:
    """What the container is to see of the node is there."""
    if look.engine is None:
        return grey("no_container")
    problems: list[MountProblem] = []
    for device in look.node["devices"]:
        facts = look.path(device)
        if facts and facts["kind"] == "missing":
            problems.append(MountProblem("device_missing", device))
    mounts = [one for one in look.node["mounts"] if not one.get("staged") and not one["target"].endswith(HOST_LIBRARY)]
    for mount in mounts:
        facts = look.path(mount["source"])
        problem = mount_problem(mount, facts["kind"]) if facts else None
        if problem:
            problems.append(problem)
    if not problems:
        return green("mounts", count=len(mounts))
    found = [problem._asdict() for problem in dict.fromkeys(problems)]
    return red("mounts_missing", count=len(found), problems=found)


def check_token(look: Look) -> Cell:
    """The file with the Hugging Face token that the config sets is there; a run takes it from here first."""
    path = next((secret["source"] for secret in look.node.get("secrets", []) if secret["source"]), None)
    facts = look.path(path) if path else None
    if facts is None:
        return grey("unknown" if path else "no_token")
    return green("token") if facts["kind"] == "file" else grey("token_missing", path=path)


def cache_cells(looks: Sequence[Look]) -> dict[str, Cell]:
    """Return whether the nodes have the dataset's index cache in common."""
    first = next((look for look in looks if look.is_first), None)
    return {look.name: _cache_cell(look, first) for look in looks}


def _cache_cell(look: Look, first: Look | None) -> Cell:
    if not look.multi_node:
        return grey("single_node", "cache")
    inside = look.node["env"].get("DATA_CACHE_PATH")
    if inside is None:
        return grey("no_cache")
    folder = cache_folder(look.plan, look.node)
    if folder is None:
        return red("cache_in_container", inside=inside)
    if look.probe is None or first is None:
        return grey("cache_unverified")
    facts = look.path(look.probe)
    if facts and facts["kind"] == "file":
        return green("cache")
    here, there = (
        (path and path["file_system"]) or "unknown file system" for path in (look.path(folder), first.path(folder))
    )
    return red("cache_not_shared", first=first.name, folder=folder, here=here, there=there)
