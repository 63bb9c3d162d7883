# SPDX-License-Identifier: GPL-3.0-or-later
"""The root file system that all nodes share as their lowest layer: built once, kept in the cache."""

from __future__ import annotations

import hashlib
import shlex
import shutil
import sys
import typing as t
from pathlib import Path

from _run import CannotRunHereError, ClusterError, run, run_aloud

SUITE: t.Final = "bookworm"

PACKAGES: t.Final = (
    "ca-certificates",
    "catatonit",  # podman run --init
    "dbus",  # podman asks systemd for control groups through it
    "docker.io",
    "iproute2",
    "iptables",  # both engines' bridge networks
    "iputils-ping",
    "kmod",
    "netavark",
    "openssh-server",
    "podman",
    "procps",
    "python3",  # python3-minimal lacks json and zipfile, so Ansible does not run on it
    "python3-apt",  # ansible.builtin.apt
    "runc",
    "systemd-sysv",
)

# The packages that a node can `apt-get install` without a way out; everything else is "Unable to locate package" at
# once.
OFFLINE_PACKAGES: t.Final = ("ibverbs-providers", "ibverbs-utils", "infiniband-diags", "perftest", "rdma-core")

# A node has no console to log in at, no hardware events, and no business with the machine's debug file systems.
_MASKED_UNITS: t.Final = (
    "console-getty.service",
    "getty.target",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-logind.service",
    "systemd-udev-trigger.service",
    "systemd-udevd.service",
)
# docker.socket stays enabled: the daemon starts at the first `docker` command and costs nothing before.
# The timers would look after disks and packages that are not the node's.
_DISABLED_UNITS: t.Final = (
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "containerd.service",
    "docker.service",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "podman-auto-update.service",
    "podman-auto-update.timer",
    "podman-restart.service",
    "podman.service",
    "podman.socket",
)

_OFFLINE_HOOK: t.Final = Path(__file__).with_name("_offline_packages.py")


def key() -> str:
    """Changes with everything that the content of the root file system depends on in this clone."""
    sources = [Path(__file__), _OFFLINE_HOOK]
    return hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:12]


def cached(cache: Path) -> Path:
    """Where the root file system of this clone is, or will be."""
    return cache / f"rootfs-{key()}"


def ensure(cache: Path) -> Path:
    """The root file system, built if the cache lacks it.

    Raises ClusterError if the build fails (no package mirror within reach, no room on the disk).
    """
    rootfs = cached(cache)
    if rootfs.exists():
        return rootfs
    print(f"building the root file system of the nodes, once for this machine: {rootfs}", flush=True)
    unfinished = cache / f"{rootfs.name}.unfinished"
    if unfinished.exists():
        shutil.rmtree(unfinished)
    _bootstrap(unfinished)
    _strip_identity(unfinished)
    _settle_units(unfinished)
    _use_offline_packages(unfinished)
    unfinished.rename(rootfs)
    return rootfs


def mmdebstrap(target: Path, variant: str, packages: t.Sequence[str], *options: str) -> None:
    """Fetch ``packages`` and their dependencies, less manuals and translations, to ``target``, a folder or a ``.tar``.

    Its mounts there go with its own mount namespace, even if it is killed: a /proc or /sys left in ``target`` could not
    be removed by the next build.

    Raises CannotRunHereError with mmdebstrap's message.
    """
    leave_out = [f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in ("doc", "info", "locale", "man")]
    quick = ["--mode=root", "--dpkgopt=force-unsafe-io", *leave_out]
    try:
        run_aloud(
            [
                *("unshare", "--mount", "mmdebstrap"),
                f"--variant={variant}",
                *quick,
                f"--include={','.join(packages)}",
                *options,
                SUITE,
                str(target),
            ]
        )
    except ClusterError as error:
        raise CannotRunHereError(
            f"Debian {SUITE} cannot be fetched; is deb.debian.org within reach? {error}"
        ) from error


def _bootstrap(target: Path) -> None:
    hook = f'{shlex.join((sys.executable, str(_OFFLINE_HOOK)))} "$1" {" ".join(OFFLINE_PACKAGES)}'
    mmdebstrap(target, "minbase", PACKAGES, f"--customize-hook={hook}")


def _strip_identity(rootfs: Path) -> None:
    """A node's own files are made when it starts, never in the shared layer."""
    for host_key in (rootfs / "etc/ssh").glob("ssh_host_*"):
        host_key.unlink()
    (rootfs / "etc/machine-id").write_text("")
    for name in ("hostname", "resolv.conf"):
        (rootfs / "etc" / name).unlink(missing_ok=True)


def _settle_units(rootfs: Path) -> None:
    for unit in _MASKED_UNITS:
        mask = rootfs / "etc/systemd/system" / unit
        mask.unlink(missing_ok=True)
        mask.symlink_to("/dev/null")
    run(["chroot", str(rootfs), "systemctl", "--quiet", "disable", *_DISABLED_UNITS])
    run(["chroot", str(rootfs), "systemctl", "--quiet", "set-default", "multi-user.target"])
    # Without logind every login would wait for an answer that does not come.
    session = rootfs / "etc/pam.d/common-session"
    lines = session.read_text().splitlines(keepends=True)
    session.write_text("".join(line for line in lines if "pam_systemd.so" not in line))
    # Every login would run the scripts of the message of the day.
    shutil.rmtree(rootfs / "etc/update-motd.d")


def _use_offline_packages(rootfs: Path) -> None:
    for sources in (rootfs / "etc/apt/sources.list.d").iterdir():
        sources.unlink()
    (rootfs / "etc/apt/sources.list").write_text("deb [trusted=yes] file:/srv/packages ./\n")
    run(["chroot", str(rootfs), "apt-get", "-qq", "update"])
    found = run(["chroot", str(rootfs), "apt-cache", "--names-only", "search", "."]).splitlines()
    missing = set(OFFLINE_PACKAGES) - {line.split()[0] for line in found}
    if missing:
        raise ClusterError(f"the nodes' own package folder lacks {', '.join(sorted(missing))}")
