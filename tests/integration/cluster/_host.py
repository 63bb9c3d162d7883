# SPDX-License-Identifier: GPL-3.0-or-later
"""The requirements on this machine, and how to report a missing one."""

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

# program in PATH, or file -> the Debian package that brings it
TO_RUN: t.Final = {
    "ip": "iproute2",
    "mount": "mount",
    "nsenter": "util-linux",
    "pivot_root": "util-linux",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "unshare": "util-linux",
}
TO_BUILD: t.Final = {
    "/usr/share/keyrings/debian-archive-keyring.gpg": "debian-archive-keyring",
    "mmdebstrap": "mmdebstrap",
}

# The ingredients of a node, tried in a folder and in namespaces that end with the trial: a name, and shell commands.
_TRIAL: t.Final = (
    ("own namespaces", "true"),
    ("mounting in an own mount namespace", "mkdir t && mount -t tmpfs tmpfs t && cd t"),
    (
        "the overlay file system",
        "mkdir l u w m && mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w m",
    ),
    ("making device files", "mknod null c 1 3"),
    ("network bridges", "ip link add bridge0 type bridge"),
    ("pairs of virtual network interfaces", "ip link add veth0 type veth peer name veth1"),
)

_CAP_SYS_RESOURCE: t.Final = 24  # linux/capability.h


def is_there(needed: str) -> bool:
    """Whether this machine has a program in PATH, or a file if ``needed`` begins with a slash."""
    return Path(needed).exists() if needed.startswith("/") else shutil.which(needed) is not None


def missing_packages(needed: Mapping[str, str], found: t.Callable[[str], bool] = is_there) -> list[str]:
    """Names of the Debian packages that this machine lacks in part, sorted."""
    return sorted({package for thing, package in needed.items() if not found(thing)})


def require(needed: Mapping[str, str], *, install: bool) -> None:
    """Make sure that everything ``needed`` is there; bring in missing parts only if ``install``.

    Raises CannotRunHereError with the names of the packages.
    """
    missing = missing_packages(needed)
    if not missing:
        return
    names = " ".join(missing)
    if not install:
        cure = f"run `apt-get install {names}`, or repeat with --install"
        raise CannotRunHereError(f"missing Debian packages: {names}; {cure}")
    apt_get = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    run([*apt_get, "update"])
    run([*apt_get, "install", "-y", "--no-install-recommends", *missing])


def require_root() -> None:
    """Raise CannotRunHereError unless this is Linux and this process is root."""
    if sys.platform != "linux":
        raise CannotRunHereError(f"nodes are Linux namespaces, and this machine runs {sys.platform}")
    if os.geteuid() != 0:
        raise CannotRunHereError(f"only root can make nodes, and this is user {os.geteuid()}")


def require_namespaces() -> None:
    """Try the ingredients of nodes, and raise CannotRunHereError with the first thing that this machine refuses."""
    unshare = ["unshare", "--mount", "--pid", "--fork", "--net", "--uts", "--ipc", "--cgroup"]
    script = "\n".join(f"echo '{what}'\n{commands}" for what, commands in _TRIAL)
    with tempfile.TemporaryDirectory() as folder:
        argv = [*unshare, "sh", "-e", "-c", script]
        tried = subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, cwd=folder)
    if tried.returncode != 0:
        refused = (tried.stdout.splitlines() or [_TRIAL[0][0]])[-1]
        raise CannotRunHereError(f"this machine does not allow {refused}: {tried.stderr.strip()}")


def require_plain_name(folder: Path) -> None:
    """Raise ClusterError if the name of ``folder`` would end, or begin, something else in a mount's options."""
    if set(str(folder)) & set(',:"\\'):
        raise ClusterError(f'{folder} has one of , : " \\ in its name, which mount options cannot hold')


def require_real_file_system(folder: Path) -> None:
    """Raise ClusterError if ``folder`` lies on an overlay, which cannot carry a node's layer or its image stores."""
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
