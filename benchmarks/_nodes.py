# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes for a benchmark: sshds of this user on loopback addresses of this machine, each with a folder of its own.

For root each node has processes of its own as well, as machines have: to find those of a run it looks at all there are.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
import typing as t
from pathlib import Path

# The most that one sshd listens on.
_ADDRESSES_OF_AN_SSHD: t.Final = 16
_OWN_PROCESSES: t.Final = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


class Nodes:
    """``count`` nodes below a folder, from ``with`` on to its end; root needs what a packaged sshd needs of root."""

    def __init__(self, folder: Path, count: int, port: int) -> None:
        self.folder = folder
        self.port = port
        self.addresses = [f"127.77.{1 + number // 250}.{1 + number % 250}" for number in range(count)]
        self.key = folder / "key"
        self.known_hosts = folder / "known_hosts"
        self._apart = False
        self._sshds: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> t.Self:
        sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        if not sshd:
            raise SystemExit("The nodes are sshds: install an OpenSSH server (openssh-server), and leave it stopped.")
        self.folder.mkdir(parents=True)
        for name in ("key", "host_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name], check=True)
        shutil.copy(self.folder / "key.pub", self.folder / "authorized_keys")
        self.known_hosts.write_text(f"[127.77.*]:{self.port} {(self.folder / 'host_key.pub').read_text()}")
        if os.geteuid() == 0:
            # The service of the package makes it as it starts.
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        apart = self._apart = os.geteuid() == 0 and _can_be_apart()
        addresses = 1 if apart else _ADDRESSES_OF_AN_SSHD
        for first in range(0, len(self.addresses), addresses):
            config = self.folder / f"sshd_{first}.conf"
            config.write_text(self._config(self.addresses[first : first + addresses]))
            command = [*(_OWN_PROCESSES if apart else ()), sshd, "-D", "-e", "-f", str(config)]
            with open(self._log(first), "wb") as log:
                self._sshds.append(subprocess.Popen(command, stderr=log))
        deadline = time.monotonic() + 30
        while self._said("Server listening") < len(self.addresses):
            if time.monotonic() > deadline:
                raise SystemExit(f"The sshds do not come up:\n{self._log(0).read_text()}")
            time.sleep(0.1)
        return self

    def __exit__(self, *_error: object) -> None:
        for sshd in self._sshds:
            # unshare does not hear SIGTERM.
            sshd.kill()
        for sshd in self._sshds:
            sshd.wait()

    def _config(self, addresses: list[str]) -> str:
        # Without a home, as what this user's own ~/.bashrc costs would be paid with every command on every node.
        own = "".join(
            f"Match LocalAddress {address}\n"
            f"  SetEnv HOME={self.folder} TRAINOPS_LOCK_FOLDER={self.folder}/machines/{address}\n"
            for address in addresses
        )
        return (
            f"Port {self.port}\n"
            + "".join(f"ListenAddress {address}\n" for address in addresses)
            + f"HostKey {self.folder}/host_key\nAuthorizedKeysFile {self.folder}/authorized_keys\nStrictModes no\n"
            f"AcceptEnv LANG LC_*\nUsePAM no\nPidFile none\nMaxStartups 1000\nLogLevel VERBOSE\nPermitRootLogin yes\n"
            f"{own}"
        )

    def _log(self, first: int) -> Path:
        return self.folder / f"sshd_{first}.log"

    def _said(self, words: str) -> int:
        return sum(path.read_text(errors="replace").count(words) for path in self.folder.glob("sshd_*.log"))

    def round_trips(self) -> int:
        """Return how many commands the nodes have been given so far."""
        return self._said("Starting session:")

    def cpu_seconds(self) -> float:
        """Return what all processes of the nodes have spent so far, ended ones too; 0 for nodes that are not apart."""
        if not self._apart:
            return 0.0
        return sum(cpu_seconds(pid, with_ended=True) for pid in family(sshd.pid for sshd in self._sshds))

    def connections(self) -> int:
        """Return how many connections the nodes have accepted so far."""
        return self._said("Accepted publickey")


def family(roots: t.Iterable[int]) -> set[int]:
    """Return processes and all that descend from them."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int(_stat(int(entry.name))[1])
    found = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def cpu_seconds(pid: int, *, with_ended: bool = False) -> float:
    """Return the processor time of a process so far, and on request of its ended children; 0 once it has ended."""
    with contextlib.suppress(OSError):
        return sum(map(int, _stat(pid)[11 : 15 if with_ended else 13])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _stat(pid: int) -> list[str]:
    """Return the fields of ``/proc/PID/stat`` from the third on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _can_be_apart() -> bool:
    with contextlib.suppress(FileNotFoundError):
        return subprocess.run([*_OWN_PROCESSES, "true"], capture_output=True, check=False).returncode == 0
    return False
