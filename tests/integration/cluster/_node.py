# SPDX-License-Identifier: GPL-3.0-or-later
"""One node: its own layer over the shared root file system, its start, and how to know that it answers."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import typing as t
import uuid
from pathlib import Path

import _cgroups
import _engines
import _simulated
from _run import ClusterError, run, wait_until

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from _network import Network
    from _node_init import Spec

_HERE: t.Final = Path(__file__).parent


class Node(t.NamedTuple):
    """Node ``nodeN`` of a network; its files on this machine's disk are in ``folder``."""

    number: int
    network: Network
    folder: Path

    @property
    def name(self) -> str:
        return f"node{self.number}"

    @property
    def address(self) -> str:
        """Where its sshd listens."""
        return self.network.management(self.number)

    @property
    def fabric_address(self) -> str:
        return self.network.fabric(self.number)

    @property
    def host_key(self) -> str:
        """Its sshd's public key: type and key, in the format of known_hosts."""
        key = self.folder / "upper/etc/ssh/ssh_host_ed25519_key.pub"
        return " ".join(key.read_text().split()[:2])


def hosts_line(node: Node) -> str:
    """The line of /etc/hosts about a node."""
    return f"{node.address} {node.name}\n"


def prepare(node: Node, *, authorized_key: str, neighbours: Sequence[Node], clamp: bool) -> None:
    """Write the node's own layer: identity, keys, engine settings, simulated hardware."""
    upper = node.folder / "upper"
    for folder in (upper, *(node.folder / name for name in ("work", "root", "sys-class", "sysctl"))):
        folder.mkdir(parents=True)
    for store in ("containers", "docker"):
        (node.folder / "stores" / store).mkdir(parents=True)
    hosts = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
    files = {
        "etc/hostname": f"{node.name}\n",
        "etc/hosts": hosts + "".join(map(hosts_line, neighbours)),
        "etc/machine-id": f"{uuid.uuid4().hex}\n",
        "root/.ssh/authorized_keys": authorized_key,
        **_engines.configuration(clamp=clamp),
    }
    for name, content in files.items():
        (upper / name).parent.mkdir(parents=True, exist_ok=True)
        (upper / name).write_text(content)
    (upper / "root").chmod(0o700)
    (upper / "root/.ssh").chmod(0o700)
    if clamp:
        program = upper / _engines.CLAMP.lstrip("/")
        program.parent.mkdir(parents=True)
        shutil.copy(_HERE / "oci_clamp.py", program)
    (upper / "var/log/journal").mkdir(parents=True)  # so that systemd's journal outlives the node
    (upper / "etc/ssh").mkdir()
    new_key(upper / "etc/ssh/ssh_host_ed25519_key", node.name)
    _simulated.write_adapter(
        node.folder / "sys-class",
        interface="fab0",
        hardware_address=node.network.hardware_address(node.number, 1),
        address=node.fabric_address,
    )


def new_key(file: Path, comment: str) -> None:
    """Make an SSH key pair without passphrase: ``file`` and ``file``.pub."""
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(file)])


def start(node: Node, rootfs: Path, trees: Sequence[_cgroups.Hierarchy]) -> None:
    """Start the node's first process. The network and the control groups must be there; returns before it is up.

    Raises ClusterError with the process's output if it does not even enter its control group.
    """
    cluster = node.network.name
    spec: Spec = {
        "name": node.name,
        "rootfs": str(rootfs),
        "folder": str(node.folder),
        "cgroups": [(str(tree.folder / cluster / node.name), tree.file_system, tree.options) for tree in trees],
        "devices": list(_simulated.DEVICES),
        "sysctls": _simulated.SYSCTLS,
    }
    (node.folder / "spec.json").write_text(json.dumps(spec, indent=2))
    join_group = 'echo 0 > "$0" && exec "$@"'
    in_namespaces = [
        "nsenter",
        f"--net=/run/netns/{node.network.namespace(node.name)}",
        *("unshare", "--mount", "--pid", "--fork", "--uts", "--ipc", "--kill-child"),
    ]
    first_process = [sys.executable, str(_HERE / "_node_init.py"), str(node.folder / "spec.json")]
    group = _cgroups.supervisor(trees[0], cluster, node.name) / "cgroup.procs"
    with (node.folder / "console.log").open("wb") as console:
        process = subprocess.Popen(
            ["sh", "-c", join_group, str(group), *in_namespaces, *first_process],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd="/",
        )
    # From here on the group shows whether the node lives.
    wait_until(lambda: _is_alive(node, trees[0]) or process.poll() is not None, seconds=15, interval=0.002)
    if not _is_alive(node, trees[0]):
        raise ClusterError(f"{node.name} does not start: {_console(node)}")


def wait_for_ssh(node: Node, tree: _cgroups.Hierarchy, *, seconds: float) -> None:
    """Return once the node's sshd says who it is.

    Raises ClusterError with the end of its console if the node dies or is silent for ``seconds``.
    """

    def is_decided() -> bool:
        return _greets(node.address) or not _is_alive(node, tree)

    silent = not wait_until(is_decided, seconds=seconds)
    if silent or not _greets(node.address):
        what = f"did not answer at {node.address}:22 within {seconds:.0f} s" if silent else "ended while it started"
        journal = f"journalctl --directory={node.folder / 'upper/var/log/journal'}"
        raise ClusterError(f"{node.name} {what}; its console says: {_console(node)}; see also `{journal}`")


def _is_alive(node: Node, tree: _cgroups.Hierarchy) -> bool:
    return _cgroups.is_running(tree, node.network.name, node.name)


def _console(node: Node) -> str:
    return (node.folder / "console.log").read_text(errors="replace").strip()[-2000:] or "nothing"


def _greets(address: str) -> bool:
    try:
        with socket.create_connection((address, 22), timeout=2) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False
