# SPDX-License-Identifier: GPL-3.0-or-later
"""A real slurmctld on this machine, with six nodes, in a folder of its own.

Slurm comes from Debian's packages, unpacked there and not installed: no service is started, no user is made. Its
reports on jobs, reservations and switches are all that an inventory asks for, and need no slurmd. Jobs run on the first
nodes, each with a slurmd of its own, and their trainings know only the files and processes with the lock folder's
label.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from not_run import need_root
from ports import free_ports
from unpacked_packages import NoPackagesError, unpack

_PACKAGES = ("slurm-client", "slurmctld", "slurmd", "slurm-wlm-basic-plugins", "libmunge2", "libhwloc15")
_TOPOLOGY = """\
SwitchName=leaf1 Nodes=gpu[01,03,05]
SwitchName=leaf2 Nodes=gpu[02,04,06]
SwitchName=spine Switches=leaf[1-2]
"""
# Fails on a node while there is a file of its name.
_PROLOG = """\
#!/bin/sh
! test -e "{folder}/bad-$SLURMD_NODENAME"
"""


class NoSlurmError(Exception):
    """Slurm cannot be had on this machine; says why."""


@dataclass
class Slurm:
    """Slurm in a folder; ``environment`` lets its commands find its configuration and its libraries."""

    folder: Path
    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    _daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def scontrol(self) -> str:
        return str(self.root / "usr/bin/scontrol")

    def run(self, *command: str) -> str:
        """Run a command of Slurm, and return its output."""
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
        self.start_daemon("slurmctld", "slurmctld", "-D", "-i")
        for _ in range(150):
            try:
                self.run("scontrol", "show", "partition")
            except RuntimeError:
                time.sleep(0.1)
            else:
                return
        raise NoSlurmError(f"slurmctld does not answer: {(self.folder / 'slurmctld.out').read_text()[-500:]}")

    def start_nodes(self, count: int) -> None:
        """Start slurmd for the first nodes, and wait until they take jobs."""
        names = [f"gpu{number:02}" for number in range(1, count + 1)]
        for name in names:
            (self.folder / "spool" / name).mkdir(parents=True)
            self.start_node(name)
        self.wait_for_nodes(names)

    @property
    def not_shared(self) -> Path:
        """A folder that each node has an empty one of its own in the place of."""
        return self.folder / "not_shared"

    def start_node(self, name: str) -> None:
        """Start the slurmd of a node, which ends the leftovers of jobs that have ended meanwhile."""
        self.not_shared.mkdir(exist_ok=True)
        hides = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(self.not_shared))
        slurmstepd = str(self.root / "usr/sbin/slurmstepd")
        self.start_daemon(name, "slurmd", "-D", "-N", name, "-d", slurmstepd, within=hides)

    def pid_of(self, name: str) -> int:
        """Return the process of a daemon."""
        return self._daemons[name].pid

    def kill_node(self, name: str) -> None:
        """Let Slurm lose a node."""
        daemon = self._daemons.pop(name)
        daemon.kill()
        daemon.wait()

    def wait_for_nodes(self, names: list[str]) -> None:
        """Wait until nodes take jobs."""
        command = ("sinfo", "--noheader", "--Node", "--partition=all", "--nodes", ",".join(names))
        for _ in range(300):
            if self.run(*command).count(" idle") == len(names):
                return
            time.sleep(0.2)
        raise NoSlurmError(f"slurmd takes no jobs: {(self.folder / 'gpu01.out').read_text()[-500:]}")

    def start_daemon(self, name: str, program: str, *arguments: str, within: tuple[str, ...] = ()) -> None:
        """Start a program that stays in the foreground; its output goes to a file of its name."""
        with (self.folder / f"{name}.out").open("wb") as stream:
            self._daemons[name] = subprocess.Popen(
                [*within, str(self.root / "usr/sbin" / program), *arguments],
                env={**os.environ, **self.environment},
                cwd=self.folder,
                stdout=stream,
                stderr=stream,
            )

    def stop(self) -> None:
        """End all daemons, the nodes' first."""
        for daemon in reversed(self._daemons.values()):
            daemon.kill()
            daemon.wait()


@contextlib.contextmanager
def with_nodes(make: Callable[[], Slurm], count: int = 3) -> Iterator[Slurm]:
    """Give a Slurm with this many nodes, once they take jobs; a test is skipped if Slurm is not available."""
    need_root("slurmctld and slurmd are started as root here", "make test-slurm")
    found = None
    try:
        found = make()
        found.start()
        found.start_nodes(count)
        yield found
    except NoSlurmError as error:
        pytest.skip(str(error))
    finally:
        if found:
            found.stop()


def unpacked(folder: Path, packages: tuple[str, ...] = (), nodes: int = 6, **changes: str) -> Slurm:
    """Return Slurm, unpacked and configured in a folder; NoSlurmError if its packages are not available.

    ``packages`` are further ones, ``nodes`` how many the cluster has, ``changes`` lines of slurm.conf that have another
    value than here, or are new.
    """
    (folder / "state").mkdir()
    (folder / "locks").mkdir(mode=0o700)
    try:
        root = unpack(folder, (*_PACKAGES, *packages))
    except NoPackagesError as error:
        raise NoSlurmError(str(error)) from None
    # As in an installation: a daemon goes by its name, and slurmctld talks to no slurmdbd by another one.
    for daemon in root.glob("usr/sbin/*-wlm"):
        daemon.with_name(daemon.name.removesuffix("-wlm")).symlink_to(daemon)
    (plugins,) = root.glob("usr/lib/*/slurm-wlm")
    (folder / "topology.conf").write_text(_TOPOLOGY)
    (folder / "prolog").write_text(_PROLOG.format(folder=folder))
    (folder / "prolog").chmod(0o755)
    (folder / "slurm.conf").write_text(_changed(_configuration(folder, plugins, nodes), changes))
    environment = {
        "SLURM_CONF": str(folder / "slurm.conf"),
        "LD_LIBRARY_PATH": f"{plugins}:{plugins.parent}",
        "PATH": f"{os.environ['PATH']}:{root}/usr/bin",
        "TRAINOPS_LOCK_FOLDER": str(folder / "locks"),
    }
    return Slurm(folder, root, environment)


def _changed(configuration: str, changes: dict[str, str]) -> str:
    kept = [line for line in configuration.splitlines() if line.partition("=")[0] not in changes]
    return "\n".join([*kept, *(f"{name}={value}" for name, value in changes.items()), ""])


def _configuration(folder: Path, plugins: Path, count: int) -> str:
    port, *ports = free_ports(count + 1)
    alike = f"NodeHostname={socket.gethostname()} NodeAddr=127.0.0.1 CPUs=1 RealMemory=1000"
    nodes = "\n".join(f"NodeName=gpu{number:02} Port={own} {alike}" for number, own in enumerate(ports, 1))
    return f"""\
ClusterName=bench
FirstJobId={port}
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
PluginDir={plugins}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdTimeout=10
Prolog={folder}/prolog
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=5
ReturnToService=2
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SelectType=select/linear
TopologyPlugin=topology/tree
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
PartitionName=low Nodes=ALL State=UP PriorityTier=1 PreemptMode=CANCEL
PartitionName=again Nodes=ALL State=UP PriorityTier=1 PreemptMode=REQUEUE
PartitionName=high Nodes=ALL State=UP PriorityTier=10
PartitionName=short Nodes=gpu[01-03] State=UP MaxTime=5
PartitionName=closed Nodes=ALL State=DOWN
"""
