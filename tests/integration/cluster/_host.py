# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine must offer, and how to say what it lacks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

from _run import CannotRunHereError, ClusterError, run

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# program -> the Debian package that brings it
TO_RUN: t.Final = {
    "ip": "iproute2",
    "mount": "mount",
    "nsenter": "util-linux",
    "pivot_root": "util-linux",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "unshare": "util-linux",
}
TO_BUILD: t.Final = {"mmdebstrap": "mmdebstrap"}

# What a node is made of, tried in namespaces that end with the trial. Each line is `what it is for` and the command.
TRIAL: t.Final = (
    ("mounting in an own mount namespace", "mount -t tmpfs tmpfs {folder}"),
    ("the overlay file system", "mkdir {folder}/l {folder}/u {folder}/w {folder}/m && mount -t overlay overlay"
     " -o lowerdir={folder}/l,upperdir={folder}/u,workdir={folder}/w {folder}/m"),
    ("making device files", "mknod {folder}/null c 1 3"),
    ("network bridges", "ip link add bridge0 type bridge"),
    ("pairs of virtual network interfaces", "ip link add veth0 type veth peer name veth1"),
)  # fmt: skip

_CAP_SYS_RESOURCE: t.Final = 24  # linux/capability.h


def missing_packages(programs: Mapping[str, str], found: t.Callable[[str], object] = shutil.which) -> list[str]:
    """Names of the Debian packages whose programs this machine lacks, sorted."""
    return sorted({package for program, package in programs.items() if not found(program)})


def require(programs: Mapping[str, str], *, install: bool) -> None:
    """Make sure that ``programs`` are there; bring in missing ones only if ``install``.

    Raises CannotRunHereError with the names of the packages.
    """
    missing = missing_packages(programs)
    if not missing:
        return
    if not install:
        names = " ".join(missing)
        raise CannotRunHereError(
            f"missing Debian packages: {names}; `apt-get install {names}`, or repeat with --install"
        )
    apt_get = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    run([*apt_get, "update"])
    run([*apt_get, "install", "-y", "--no-install-recommends", *missing])
    still = missing_packages(programs)
    if still:
        raise CannotRunHereError(f"installed, and yet their programs are not found in PATH: {' '.join(still)}")


def require_root() -> None:
    """Raise CannotRunHereError unless this is Linux and this process is root."""
    if sys.platform != "linux":
        raise CannotRunHereError(f"nodes are Linux namespaces, and this machine runs {sys.platform}")
    if os.geteuid() != 0:
        raise CannotRunHereError(f"only root can make nodes, and this is user {os.geteuid()}")


def require_namespaces() -> None:
    """Try what nodes are made of, and raise CannotRunHereError with the first thing that this machine refuses."""
    unshare = ["unshare", "--mount", "--pid", "--fork", "--net", "--uts", "--ipc", "--cgroup"]
    with tempfile.TemporaryDirectory() as folder:
        steps = [("own namespaces", "true")] + [(what, command.format(folder=folder)) for what, command in TRIAL]
        script = "\n".join(f"echo '{what}'\n{command}" for what, command in steps)
        tried = subprocess.run(
            [*unshare, "sh", "-e", "-c", script], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
    if tried.returncode != 0:
        refused = (tried.stdout.splitlines() or [steps[0][0]])[-1]
        raise CannotRunHereError(f"this machine does not allow {refused}: {tried.stderr.strip()}")


def require_real_file_system(folder: Path) -> None:
    """Raise ClusterError if ``folder`` lies on an overlay, which cannot hold a node's own layer or its image stores."""
    kind = run(["stat", "--file-system", "--format=%T", str(folder)]).strip()
    if kind == "overlayfs":
        raise ClusterError(f"{folder} lies on overlayfs, where nodes cannot be kept: name another folder with --state")


def may_raise_limits(status: str | None = None) -> bool:
    """Whether root here has CAP_SYS_RESOURCE, which ``--ulimit memlock=-1`` and docker's ``--privileged`` need.

    ``status`` is the text of /proc/self/status.
    """
    lines: Iterable[str] = (status if status is not None else Path("/proc/self/status").read_text()).splitlines()
    bounding = next(int(line.split()[1], 16) for line in lines if line.startswith("CapBnd:"))
    return bool(bounding >> _CAP_SYS_RESOURCE & 1)
