# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of what a training needs room for: disks, shared memory, limits; and of what is mounted."""

from __future__ import annotations

import shlex
import typing as t
from collections.abc import Sequence

from ...module_utils.node.rdma_library import HOST_LIBRARY, mount_problem
from ...module_utils.node.room import LEAST_BYTES, in_gib
from .cells import Cell, by_hand, green, grey, red
from .facts import Path
from .look import Look
from .needs import cache_folder

LEAST_INODES = 10_000
UNLIMITED = -1
_UNITS = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def bytes_of(size: str) -> int:
    """Return the bytes of a size such as ``128G``, as docker and podman read it."""
    number = size.rstrip("bBkKmMgGtT")
    return int(number) * _UNITS[size[len(number) :].casefold()]


def check_disk(look: Look) -> Cell:
    """There is room where the run writes, and where an image goes that is still to be fetched."""
    places = {path: look.path(path) for path in (look.node["run_folder"], cache_folder(look.plan, look.node)) if path}
    engine = look.facts["engines"].get(look.engine) if look.engine else None
    if engine and engine["storage"] and engine["image"] is None:
        places[engine["storage"]["path"]] = t.cast("Path", {**engine["storage"], "writable": True})
    free = []
    for path, facts in places.items():
        if facts is None:
            return red(
                "no answer",
                f"{path}: {look.facts['problems'].get(path, 'unknown')}",
                by_hand("repair the file system", f"stat -f {path}"),
            )
        problem = _room_problem(path, facts)
        if problem:
            return problem
        free.append(facts["free_bytes"] or 0)
    return green(f"{in_gib(min(free))} free")


def _room_problem(path: str, facts: Path) -> Cell | None:
    free, inodes = facts["free_bytes"], facts["free_inodes"]
    if not facts["writable"]:
        reason = f"{path} cannot be written: this user has no write access to {facts['nearest']}"
        return red(
            "read-only", reason, by_hand("give this user write access", f"ls -ld {shlex.quote(facts['nearest'])}")
        )
    if free is not None and free < LEAST_BYTES:
        reason = f"{path} has {in_gib(free)} free, but needs at least {in_gib(LEAST_BYTES)}"
        return red(f"{in_gib(free)} free", reason, by_hand("free some space", f"df -h {shlex.quote(facts['nearest'])}"))
    if inodes is not None and inodes < LEAST_INODES:
        reason = f"{path} has room for {inodes} more files, but needs at least {LEAST_INODES}"
        return red(f"{inodes} inodes", reason, by_hand("delete some files", f"df -i {shlex.quote(facts['nearest'])}"))
    return None


def check_shm(look: Look) -> Cell:
    """The shared memory is as large as the config asks for, where the container uses the node's."""
    options, total = look.node["container_options"], look.facts["limits"]["shm"]["total_bytes"]
    if total is None:
        return grey("unknown")
    if look.engine is None or options.get("ipc") != "host":
        return green(in_gib(total))
    wanted = bytes_of(options["shm_size"])
    if total >= wanted:
        return green(in_gib(total))
    return red(
        in_gib(total),
        f"the container uses the node's /dev/shm (ipc host), which is {in_gib(total)}, but shm_size asks for "
        f"{in_gib(wanted)}",
        f"mount -o remount,size={options['shm_size']} /dev/shm   # or lower shm_size in the config",
    )


def check_limits(look: Look) -> Cell:
    """Memory can be locked for RDMA, and files opened, as the plan does."""
    limits = look.facts["limits"]
    if look.engine is None:
        return _memlock_of_login(look)
    wanted = look.node["container_options"].get("ulimits", {})
    nofile = int(wanted.get("nofile", "0").rpartition(":")[2])
    if limits["nr_open"] is not None and nofile > limits["nr_open"]:
        reason = f"the container asks for {nofile} open files, but the kernel allows {limits['nr_open']}"
        return red(f"nr_open {limits['nr_open']}", reason, f"sysctl -w fs.nr_open={nofile}")
    if look.engine == "podman" and limits["uid"] != 0:
        return _memlock_of_login(look)
    return green("set for the container")


def _memlock_of_login(look: Look) -> Cell:
    hard = look.facts["limits"]["memlock"]["hard"]
    if hard == UNLIMITED:
        return green("memlock unlimited")
    if not look.uses_rdma:
        return grey(f"memlock {hard // 1024} KiB, and no RDMA")
    return red(
        f"memlock {hard // 1024} KiB",
        f"RDMA locks all memory that it uses, but this login may lock only {hard // 1024} KiB",
        "echo '* - memlock unlimited' >/etc/security/limits.d/99-trainops.conf   # then log in again",
    )


def check_mounts(look: Look) -> Cell:
    """What the container is to see of the node is there."""
    if look.engine is None:
        return grey("no container")
    problems = []
    for device in look.node["devices"]:
        facts = look.path(device)
        if facts and facts["kind"] == "missing":
            drivers = by_hand("load its kernel driver", "lsmod | grep -E 'amdgpu|nvidia|ib_uverbs'")
            problems.append((f"the device {device} does not exist", drivers))
    mounts = [one for one in look.node["mounts"] if not one.get("staged") and not one["target"].endswith(HOST_LIBRARY)]
    for mount in mounts:
        facts = look.path(mount["source"])
        problem = mount_problem(mount, facts["kind"]) if facts else None
        if problem:
            problems.append((problem.reason, problem.command if problem.fixes else by_hand(problem.command)))
    if not problems:
        return green(f"{len(mounts)} present")
    reasons, commands = (dict.fromkeys(texts) for texts in zip(*problems, strict=True))
    return red(f"{len(reasons)} missing", "; ".join(reasons), "; ".join(commands))


def cache_cells(looks: Sequence[Look]) -> dict[str, Cell]:
    """Return whether the nodes have the dataset's index cache in common."""
    first = next((look for look in looks if look.is_first), None)
    return {look.name: _cache_cell(look, first) for look in looks}


def _cache_cell(look: Look, first: Look | None) -> Cell:
    if not look.multi_node:
        return grey("a single node shares nothing")
    inside = look.node["env"].get("DATA_CACHE_PATH")
    if inside is None:
        return grey("the plan has no data cache")
    folder = cache_folder(look.plan, look.node)
    if folder is None:
        return red(
            "in the container",
            f"data_cache_dir {inside} is not on a mount, so every node's container has its own",
            by_hand(f"add a folder that all nodes share to volume_dict in the config, mounted at {inside}"),
        )
    if look.probe is None or first is None:
        return grey("not verified: rank 0 could not create a file there")
    facts = look.path(look.probe)
    if facts and facts["kind"] == "file":
        return green("shared")
    kinds = [
        (there and there["file_system"]) or "unknown file system" for there in (look.path(folder), first.path(folder))
    ]
    return red(
        "not shared",
        f"the file that {first.name} left in {folder} is missing here ({kinds[0]} here, {kinds[1]} on {first.name}); "
        "nodes would wait for an index that never appears",
        by_hand(f"mount the same file system at {folder}, or choose another data_cache_dir", f"findmnt -T {folder}"),
    )
