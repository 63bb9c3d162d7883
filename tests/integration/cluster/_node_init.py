# SPDX-License-Identifier: GPL-3.0-or-later
"""The first process of a node: turns namespaces into a machine, then becomes systemd.

usage: _node_init.py SPEC.json

_node.py starts it in new mount, process, host name and IPC namespaces, in the node's network namespace. Its output ends
up in the node's console.log.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import stat
import subprocess
import sys
import typing as t
from pathlib import Path

_CLONE_NEWCGROUP: t.Final = 0x02000000  # linux/sched.h

# name -> major and minor number (Linux, Documentation/admin-guide/devices.txt)
_CHARACTER_DEVICES: t.Final = {
    "null": (1, 3),
    "zero": (1, 5),
    "full": (1, 7),
    "random": (1, 8),
    "urandom": (1, 9),
    "tty": (5, 0),
    "fuse": (10, 229),
    "net/tun": (10, 200),
}
_LINKS: t.Final = {
    "ptmx": "pts/ptmx",
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}


class Spec(t.TypedDict):
    """All that the first process must know; paths are the machine's."""

    name: str
    rootfs: str
    folder: str  # with upper/, work/, root/, sys-class/, sysctl/ and stores/
    cgroups: list[tuple[str, str, str]]  # group of the node, type of file system, mount options
    devices: list[str]  # simulated, below /dev
    sysctls: dict[str, str]  # own copies, below /proc/sys


def main(spec: Spec) -> None:
    """Build the node's file tree around this process and hand over to systemd. Does not return."""
    folder = Path(spec["folder"])
    root = folder / "root"
    _join_groups(spec["cgroups"])
    layers = f"lowerdir={spec['rootfs']},upperdir={folder}/upper,workdir={folder}/work"
    _mount("-t", "overlay", "-o", layers, "overlay", root)
    _mount("-t", "proc", "proc", root / "proc")
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", root / "run")
    _fill_dev(root / "dev", spec["devices"])
    _fill_sys(root, folder, spec["cgroups"])
    _keep_machine_settings(root / "proc", folder / "sysctl", spec["sysctls"])
    # The engines' stores are on the disk itself: their overlay does not work on the node's overlay.
    for store in ("containers", "docker"):
        inside = root / "var/lib" / store
        inside.mkdir(exist_ok=True)
        _mount("--bind", folder / "stores" / store, inside)
    socket.sethostname(spec["name"])
    _leave_old_root(root)
    # Without the word `legacy` systemd mounts the version 2 tree as well and works in the machine's own groups of it.
    legacy = ["systemd.legacy_systemd_cgroup_controller=1"] if spec["cgroups"][0][1] == "cgroup" else []
    os.execve(
        "/lib/systemd/systemd",
        ["systemd", "--show-status=0", *legacy],
        {"container": "trainops-cluster", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
    )


def _join_groups(groups: list[tuple[str, str, str]]) -> None:
    """Enter the node's groups and make them the roots that the node sees."""
    for group, _, _ in groups:
        Path(group, "cgroup.procs").write_text("0")
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWCGROUP) != 0:
        raise OSError(ctypes.get_errno(), "cannot make a control group namespace")


def _fill_dev(dev: Path, simulated: list[str]) -> None:
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", dev)
    for name in ("pts", "shm", "mqueue"):
        (dev / name).mkdir()
    _mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666,mode=620,gid=5", "devpts", dev / "pts")
    _mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", dev / "shm")
    _mount("-t", "mqueue", "mqueue", dev / "mqueue")
    like_null = dict.fromkeys(simulated, _CHARACTER_DEVICES["null"])
    for name, numbers in {**_CHARACTER_DEVICES, **like_null}.items():
        (dev / name).parent.mkdir(exist_ok=True)
        os.mknod(dev / name, stat.S_IFCHR | 0o666, os.makedev(*numbers))
        (dev / name).chmod(0o666)
    for name, target in _LINKS.items():
        (dev / name).symlink_to(target)


def _fill_sys(root: Path, folder: Path, groups: list[tuple[str, str, str]]) -> None:
    """A /sys of the node's own network, read-only, with the simulated adapter and the node's control groups."""
    plain, sys_ = root / "mnt", root / "sys"
    _mount("-t", "sysfs", "sysfs", plain)
    _mount("-t", "sysfs", "sysfs", sys_)
    _mount("-t", "overlay", "-o", f"lowerdir={folder}/sys-class:{sys_}/class", "overlay", sys_ / "class")
    # An overlay remembers which names were not there; interfaces come and go, so their folder stays the kernel's own.
    _mount("--bind", plain / "class/net", sys_ / "class/net")
    _umount(plain)
    _mount("-o", "remount,bind,ro", sys_)
    control = sys_ / "fs/cgroup"
    if groups[0][1] == "cgroup2":
        _mount("-t", "cgroup2", "cgroup2", control)
        return
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", control)
    for group, file_system, options in groups:
        inside = control / Path(group).parents[1].name
        inside.mkdir()
        none = "none," if options.startswith("name=") else ""
        _mount("-t", file_system, "-o", none + options, "cgroup", inside)


def _keep_machine_settings(proc: Path, copies: Path, sysctls: dict[str, str]) -> None:
    """Make the parts that belong to the whole machine read-only, and put the node's own copies over some of them."""
    settings = proc / "sys"
    _mount("--bind", settings, settings)
    _mount("--bind", settings / "net", settings / "net")
    for name, value in sysctls.items():
        if (settings / name).exists():  # a kernel may be built without
            copy = copies / name.replace("/", ".")
            copy.write_text(f"{value}\n")
            _mount("--bind", copy, settings / name)
    _mount("-o", "remount,bind,ro", settings)
    trigger = proc / "sysrq-trigger"
    if trigger.exists():
        _mount("--bind", "/dev/null", trigger)


def _leave_old_root(root: Path) -> None:
    old = root / ".old"
    old.mkdir()
    os.chdir(root)
    subprocess.run(["pivot_root", ".", ".old"], check=True)
    os.chdir("/")
    _umount("--lazy", "/.old")
    Path("/.old").rmdir()


def _mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *arguments], check=True)


def _umount(*arguments: str | Path) -> None:
    subprocess.run(["umount", *arguments], check=True)


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
