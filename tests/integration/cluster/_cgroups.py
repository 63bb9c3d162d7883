# SPDX-License-Identifier: GPL-3.0-or-later
"""The control groups of a cluster: its nodes' processes run in them, and are found again by them.

Every process of a cluster is in a control group named after it, from its first instruction to its last. So the groups
alone show which processes are the cluster's, even after a crash and without a state folder.

Two groups for each node: ``NAME/nodeN``, the root that the node sees, and ``NAME/nodeN.supervisor`` beside it for the
process outside that keeps the node. It may not be in the first one: a version 2 group with controllers has no processes
of its own.
"""

from __future__ import annotations

import os
import signal
import typing as t
from pathlib import Path

from _run import CannotRunHereError, ClusterError, wait_until

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Hierarchy(t.NamedTuple):
    """One mounted tree of control groups: where, which type (``cgroup`` or ``cgroup2``), and its mount options."""

    folder: Path
    file_system: str
    options: str


def hierarchies(mounts: str | None = None, controllers: str | None = None) -> list[Hierarchy]:
    """The trees that a node takes part in; systemd tracks processes in the first.

    One of type ``cgroup2`` on a unified machine. On others all hierarchies of version 1: the empty version 2 tree
    beside them is left out, because crun refuses a node that has both. ``mounts`` and ``controllers`` are the texts of
    /proc/self/mounts and /proc/cgroups. Raises CannotRunHereError if systemd could not run in any.
    """
    mounts = mounts if mounts is not None else Path("/proc/self/mounts").read_text()
    controllers = controllers if controllers is not None else Path("/proc/cgroups").read_text()
    known = {line.split()[0] for line in controllers.splitlines() if line and not line.startswith("#")}
    version_1 = []
    for line in mounts.splitlines():
        _, folder, file_system, options, *_ = line.split()
        if file_system == "cgroup2" and folder == "/sys/fs/cgroup":
            return [Hierarchy(Path(folder), "cgroup2", "")]
        if file_system == "cgroup" and folder.startswith("/sys/fs/cgroup/"):
            own = [option for option in options.split(",") if option in known or option.startswith("name=")]
            version_1.append(Hierarchy(Path(folder), "cgroup", ",".join(own)))
    version_1.sort(key=lambda hierarchy: hierarchy.options != "name=systemd")
    if not version_1 or version_1[0].options != "name=systemd":
        raise CannotRunHereError(
            "no control groups at /sys/fs/cgroup: neither version 2 nor name=systemd is mounted there"
        )
    return version_1


def supervisor(tree: Hierarchy, cluster: str, node: str) -> Path:
    """The group of the process that keeps ``node``, in the first of the hierarchies."""
    return tree.folder / cluster / f"{node}.supervisor"


def create(trees: Sequence[Hierarchy], cluster: str, node: str) -> None:
    """Make the groups of ``node``. Raises ClusterError if the machine refuses."""
    try:
        for tree in trees:
            (tree.folder / cluster / node).mkdir(parents=True, exist_ok=True)
            if tree.file_system == "cgroup2":
                _delegate(tree.folder / cluster)
            elif "cpuset" in tree.options.split(","):
                _fill_cpuset(tree.folder, [tree.folder / cluster, tree.folder / cluster / node])
        supervisor(trees[0], cluster, node).mkdir(exist_ok=True)
    except OSError as error:
        raise ClusterError(f"cannot make the control groups of {node}: {error}") from error


def _delegate(group: Path) -> None:
    """Hand on what the machine has given to this group; its own share stays as it is."""
    available = (group / "cgroup.controllers").read_text().split()
    (group / "cgroup.subtree_control").write_text(" ".join(f"+{controller}" for controller in available))


def _fill_cpuset(root: Path, groups: list[Path]) -> None:
    """A new version 1 cpuset is empty and takes no process until it has processors and memory."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        for group in groups:
            (group / name).write_text((root / name).read_text())


def is_running(tree: Hierarchy, cluster: str, node: str) -> bool:
    """Whether the process that keeps ``node`` is alive."""
    return any(True for _ in _processes(supervisor(tree, cluster, node)))


def nodes(trees: Sequence[Hierarchy], cluster: str) -> set[str]:
    """Names of all nodes that have groups, running or not."""
    return {
        group.name.removesuffix(".supervisor")
        for tree in trees
        for group in (tree.folder / cluster).glob("node*")
        if group.is_dir()
    }


def remove_node(trees: Sequence[Hierarchy], cluster: str, node: str) -> None:
    """End every process of ``node`` and remove its groups; nothing happens if there are none.

    Raises ClusterError if a process or a group outlives 15 seconds.
    """
    groups = [supervisor(trees[0], cluster, node), *(tree.folder / cluster / node for tree in trees)]
    # The holder ignores SIGTERM; SIGKILL takes the node's process namespace with it.
    if not wait_until(lambda: not _kill(groups), seconds=15):
        raise ClusterError(f"{node}: processes {_kill(groups)} do not end")
    if not wait_until(lambda: all(_remove_tree(group) for group in groups), seconds=15):
        raise ClusterError(f"{node}: its control groups are still busy: {[str(g) for g in groups if g.exists()]}")


def remove_cluster(trees: Sequence[Hierarchy], cluster: str) -> None:
    """Remove the groups that contained the groups of the nodes, which must be gone."""
    for tree in trees:
        _remove_tree(tree.folder / cluster)


def _kill(groups: list[Path]) -> list[int]:
    """Send SIGKILL to all processes in ``groups`` and below; which ones there were."""
    found = sorted({process for group in groups for process in _processes(group)})
    for process in found:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return found


def _processes(group: Path) -> Iterator[int]:
    for folder, _, _ in os.walk(group):
        try:
            listed = (Path(folder) / "cgroup.procs").read_text().split()
        except OSError:  # went away while we looked
            continue
        # The kernel writes 0 for processes outside our process namespace; to kill(2) that is our own process group.
        yield from (int(process) for process in listed if process != "0")


def _remove_tree(group: Path) -> bool:
    """Remove a group and all below it; False if the kernel still keeps one of them."""
    for folder, _, _ in os.walk(group, topdown=False):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            continue
        except OSError:
            return False
    return True
