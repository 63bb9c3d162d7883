# SPDX-License-Identifier: GPL-3.0-or-later
"""A real slurmctld on this machine, with six nodes that nobody starts, in a folder of its own.

Slurm comes from Debian's packages, unpacked there and not installed: no service is started, no user is made. What it
says of jobs, reservations and switches is all that an inventory asks for, and needs no slurmd.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

_PACKAGES = ("slurm-client", "slurmctld", "slurm-wlm-basic-plugins", "libmunge2", "libhwloc15")
_TOPOLOGY = """\
SwitchName=leaf1 Nodes=gpu[01,03,05]
SwitchName=leaf2 Nodes=gpu[02,04,06]
SwitchName=spine Switches=leaf[1-2]
"""


class NoSlurmError(Exception):
    """Slurm cannot be had on this machine; says why."""


@dataclass
class Slurm:
    """Slurm in a folder; ``environment`` lets its commands find its configuration and its libraries."""

    folder: Path
    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    _daemon: subprocess.Popen[bytes] | None = None

    @property
    def scontrol(self) -> str:
        return str(self.root / "usr/bin/scontrol")

    def run(self, *command: str) -> str:
        """Run a command of Slurm, and return what it prints."""
        done = subprocess.run(
            [str(self.root / "usr/bin" / command[0]), *command[1:]],
            env={**os.environ, **self.environment},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
        return done.stdout

    def start(self) -> None:
        """Start slurmctld, and wait until it answers."""
        log = (self.folder / "out").open("wb")
        command = [str(self.root / "usr/sbin/slurmctld-wlm"), "-D", "-i"]
        self._daemon = subprocess.Popen(
            command, env={**os.environ, **self.environment}, cwd=self.folder, stdout=log, stderr=log
        )
        for _ in range(150):
            try:
                self.run("scontrol", "show", "partition")
            except RuntimeError:
                time.sleep(0.1)
            else:
                return
        raise NoSlurmError(f"slurmctld does not answer: {(self.folder / 'out').read_text()[-500:]}")

    def stop(self) -> None:
        """End slurmctld."""
        if self._daemon:
            self._daemon.kill()
            self._daemon.wait()


def unpacked(folder: Path) -> Slurm:
    """Return Slurm, unpacked and configured in a folder; NoSlurmError where its packages cannot be had."""
    if not shutil.which("dpkg-deb"):
        raise NoSlurmError("this is no Debian, whose packages of Slurm are used here")
    root, packages = folder / "root", folder / "packages"
    for path in (root, packages, folder / "state"):
        path.mkdir()
    fetched = subprocess.run(
        ["apt-get", "download", *_PACKAGES], cwd=packages, capture_output=True, text=True, check=False
    )
    if fetched.returncode != 0:
        raise NoSlurmError(f"the packages of Slurm cannot be had: {fetched.stderr.strip()}")
    for package in packages.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", str(package), str(root)], check=True)
    (plugins,) = root.glob("usr/lib/*/slurm-wlm")
    (folder / "topology.conf").write_text(_TOPOLOGY)
    (folder / "slurm.conf").write_text(_configuration(folder, plugins))
    environment = {
        "SLURM_CONF": str(folder / "slurm.conf"),
        "LD_LIBRARY_PATH": f"{plugins}:{plugins.parent}",
    }
    return Slurm(folder, root, environment)


def _configuration(folder: Path, plugins: Path) -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return f"""\
ClusterName=bench
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/none
CredType=cred/none
SlurmUser=root
PluginDir={plugins}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
TopologyPlugin=topology/tree
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=gpu[01-06] NodeAddr=127.0.0.1 CPUs=1
PartitionName=all Nodes=ALL Default=YES State=UP
"""
