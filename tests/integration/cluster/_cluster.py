# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster as a whole: up, down, and its present parts."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import shlex
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import _access
import _cgroups
import _host
import _network
import _node
import _rootfs
from _run import ClusterError, run, wait_until

if t.TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE: t.Final = 120.0  # seconds for a node's sshd to answer; it takes 2 on an idle machine


_MARK: t.Final = "made-by-cluster.py"  # a folder with this file in it is a cluster's, and goes with the cluster


class Cluster(t.NamedTuple):
    """The cluster whose state is kept in ``state``; both folders are absolute.

    Its name is made of that folder's name alone. All that it makes on this machine carries the name, so clusters of
    several clones do not meet, and one whose state folder is lost can still be taken down.
    """

    state: Path
    cache: Path

    @property
    def name(self) -> str:
        """At most 15 characters, because it is an interface's name too."""
        return f"trainops-{hashlib.sha256(str(self.state).encode()).hexdigest()[:6]}"

    def node(self, network: _network.Network, number: int) -> _node.Node:
        return _node.Node(number, network, self.state / "nodes" / f"node{number}")


@contextlib.contextmanager
def alone(cache: Path) -> Iterator[None]:
    """Let nobody else change a cluster of this cache meanwhile; wait for our turn, and say so on standard error."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another command of the cluster", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def running(cluster: Cluster) -> list[_node.Node]:
    """The nodes that run, in order. One that an interrupted `up` left half made is not in the inventory and not one."""
    network = _network.find(cluster.name)
    if network is None:
        return []
    tree = _cgroups.hierarchies()[0]
    names = {name for name in _access.listed(cluster.state) if _cgroups.is_running(tree, cluster.name, name)}
    return [cluster.node(network, number) for number in sorted(int(name.removeprefix("node")) for name in names)]


def up(cluster: Cluster, count: int, *, install: bool) -> None:
    """Have at least ``count`` nodes run; running ones are left alone.

    Raises CannotRunHereError before anything is changed, ClusterError if a node does not come up. The next `up` makes
    all nodes anew that are not in the inventory.
    """
    _host.require_root()
    is_built = _rootfs.cached(cluster.cache).exists()
    _host.require(_host.TO_RUN if is_built else _host.TO_RUN | _host.TO_BUILD, install=install)
    _host.require_namespaces()
    trees = _cgroups.hierarchies()
    for folder in (cluster.state, cluster.cache):
        _host.require_plain_name(folder)
    _require_own(cluster.state)
    with alone(cluster.cache):
        rootfs = _rootfs.ensure(cluster.cache)
        already = running(cluster)
        if not already:
            _remove(cluster)
        cluster.state.mkdir(parents=True, exist_ok=True)
        (cluster.state / _MARK).touch()
        _host.require_real_file_system(cluster.state)
        network = _network.find(cluster.name) or _network.create(cluster.name)
        wanted = sorted({*already, *(cluster.node(network, number) for number in range(1, count + 1))})
        new = [node for node in wanted if node not in already]
        _start(cluster, new, wanted, rootfs, trees)
        for node in already:
            print(f"{node.name} is up already")
        _introduce(cluster, new, already)
        _access.write(cluster.state, wanted)
    for node in new:
        print(f"{node.name} is up at {node.address}, fabric {node.fabric_address}")
    print(f"try: ansible -i {shlex.quote(str(cluster.state / 'hosts'))} all -m ping")


def _start(
    cluster: Cluster,
    new: list[_node.Node],
    wanted: list[_node.Node],
    rootfs: Path,
    trees: list[_cgroups.Hierarchy],
) -> None:
    key = _access.public_key(cluster.state)
    clamp = not _host.may_raise_limits()
    for node in new:
        _remove_node(cluster, node.name, trees)
        _node.prepare(node, authorized_key=key, neighbours=wanted, clamp=clamp)
        _network.attach(node.network, node.name, node.number)
        _cgroups.create(trees, cluster.name, node.name)
        _node.start(node, rootfs, trees)
    for node in new:
        _node.wait_for_ssh(node, trees[0], seconds=_PATIENCE)


def _introduce(cluster: Cluster, new: list[_node.Node], already: list[_node.Node]) -> None:
    """Tell the earlier nodes the names of the new ones."""
    lines = "".join(map(_node.hosts_line, new))
    for node in already if new else ():
        run(_access.ssh_command(cluster.state, node, ["sh", "-c", "cat >> /etc/hosts"]), stdin=lines)


def down(cluster: Cluster) -> None:
    """Remove everything with the cluster's name, and its state folder; nothing happens if there is nothing.

    Raises ClusterError, and removes nothing, if the state folder is not a cluster's.
    """
    _host.require_root()
    _require_own(cluster.state)
    with alone(cluster.cache):
        _remove(cluster)


def _require_own(state: Path) -> None:
    if state.exists() and not (state / _MARK).exists() and any(state.iterdir()):
        raise ClusterError(f"{state} is not empty and not the folder of a cluster: name another one with --state")


def _remove(cluster: Cluster) -> None:
    trees = _cgroups.hierarchies()
    on_disk = {folder.name for folder in (cluster.state / "nodes").glob("node*")}
    names = sorted(on_disk | _cgroups.nodes(trees, cluster.name))
    # Processes first: so SSH clients hear that their connections end.
    for name in names:
        _cgroups.remove_node(trees, cluster.name, name)
    _cgroups.remove_cluster(trees, cluster.name)
    _network.remove(cluster.name)
    _remove_folder(cluster.state)


def _remove_node(cluster: Cluster, name: str, trees: list[_cgroups.Hierarchy]) -> None:
    _cgroups.remove_node(trees, cluster.name, name)
    _network.detach(cluster.name, name)
    _remove_folder(cluster.state / "nodes" / name)


def _remove_folder(folder: Path) -> None:
    # A node's mounts go when the kernel has taken apart the last of its namespaces, a moment after its processes.
    if not wait_until(lambda: _is_removed(folder), seconds=15):
        raise ClusterError(f"could not remove {folder}")


def _is_removed(folder: Path) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def execute(cluster: Cluster, name: str, command: list[str]) -> int:
    """Run ``command`` on a node over SSH, with this process's input and output; its exit status."""
    nodes = {node.name: node for node in running(cluster)}
    if name not in nodes:
        raise ClusterError(f"{name} is not up; up are: {', '.join(nodes) or 'none'}")
    return subprocess.run(_access.ssh_command(cluster.state, nodes[name], command), check=False).returncode
