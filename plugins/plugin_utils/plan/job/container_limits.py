# SPDX-License-Identifier: GPL-3.0-or-later
"""What a training container needs at least of its node, and what must not be hidden from it or filled with logs."""

from __future__ import annotations

import posixpath
import re
import typing as t
from collections.abc import Mapping, Sequence

from ...text.words import key_path, listed
from ..config.findings import Findings
from .options import RunOptions

HARDENED = "hardened"
# How the devices of accelerators are called: AMD, NVIDIA, Trainium, TPUs.
_ACCELERATORS = ("/dev/kfd", "/dev/nvidia", "/dev/neuron", "/dev/accel", "/dev/vfio")
# What Docker gives a container that asks for nothing. NCCL alone takes more for each pair of GPUs.
_LEAST_SHARED_MEMORY = 64 * 1024**2
_SIZE = re.compile("([0-9]+)([bkmg]?)", re.IGNORECASE)
_UNITS = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
# Folders of an image without which nothing starts in it.
_OF_IMAGE = {
    "/",
    "/bin",
    "/etc",
    "/lib",
    "/lib64",
    "/opt",
    "/sbin",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/var",
}
_OF_SYSTEM = {*_OF_IMAGE, "/boot", "/dev", "/proc", "/root", "/run", "/sys"} - {"/opt", "/var"}


def check_devices(devices: Sequence[str] | None, key: str, options: RunOptions, findings: Findings) -> None:
    """Report a hardened container that gets no accelerator; a privileged one sees all devices of its node."""
    in_container = options.container_engine != "none" and not options.training_rehearsal
    if options.container_profile != HARDENED or not in_container or devices is None:
        return
    if not any(device == "/dev" or device.startswith(_ACCELERATORS) for device in devices):
        named = f"device_list names only {listed(devices)}" if devices else "device_list is empty"
        findings.fault(
            key,
            list(devices),
            f"With container_profile={HARDENED} a container sees only the devices in device_list, and {named}: no "
            "GPU can be reached.",
            "On AMD GPUs, give /dev/kfd and /dev/dri, and /dev/infiniband for RDMA.",
        )


def check_shared_memory(size: str | None, key: str, options: RunOptions, findings: Findings) -> None:
    """Warn of a shared memory that is too small for any training."""
    found = _SIZE.fullmatch(size or "")
    if options.container_engine == "none" or not found:
        return
    if int(found[1]) * _UNITS[found[2].lower()] < _LEAST_SHARED_MEMORY:
        findings.warn(
            key,
            size,
            f'{size} of shared memory are too little: NCCL and data loaders stop with a bus error or "no space left '
            'on device".',
            "Give some gigabytes, such as 64G; a number without K, M or G counts bytes.",
        )


def check_targets(mounts: Mapping[str, str] | None, path: str, findings: Findings) -> None:
    """Warn of mounts that hide folders which the image needs. ``path`` is the key path of the mounts."""
    for source, target in (mounts or {}).items():
        if posixpath.normpath(target) in _OF_IMAGE:
            findings.warn(
                key_path(path, source),
                target,
                f"This mount hides {target} of the image, and with it what the training needs there.",
                "Mount it at a path of its own, such as /data.",
            )


def check_log_dir(log_dir: t.Any, key: str, findings: Findings) -> None:
    """Warn of logs in a folder of the operating system."""
    if isinstance(log_dir, str) and log_dir and posixpath.normpath(f"/{log_dir.lstrip('/')}") in _OF_SYSTEM:
        findings.warn(
            key,
            log_dir,
            f"{log_dir} belongs to the operating system of the nodes: the run's logs would fill its disk.",
            "Give a folder of your own, such as /home/{user-id}/logs.",
        )
