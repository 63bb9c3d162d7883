# SPDX-License-Identifier: GPL-3.0-or-later
"""The permissions and mounts of a training's container, and checks of them."""

from __future__ import annotations

import posixpath
import re
import typing as t
from collections.abc import Collection, Mapping, Sequence

from ....module_utils.node.contracts import ContainerOptions
from ...text.words import key_path, listed
from ..config.field_types import DeviceList, Environment, Mounts
from ..config.findings import Findings
from ..config.model import ConfigSection, key
from ..config.secret_names import is_secret_name
from .environment_variables import check_values, known_variables, warn_of_typos
from .options import RunOptions

HARDENED = "hardened"
# How the devices of accelerators are called: AMD, NVIDIA, Trainium, TPUs.
_ACCELERATORS = ("/dev/kfd", "/dev/nvidia", "/dev/neuron", "/dev/accel", "/dev/vfio")
# What Docker gives a container that asks for nothing. NCCL alone takes more for each pair of GPUs.
_LEAST_SHARED_MEMORY = 64 * 1024**2
_SIZE = re.compile("([0-9]+)([bkmg]?)", re.IGNORECASE)
_UNITS = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
# Folders that an image needs to start anything.
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
_SYSTEM_FOLDERS = {*_OF_IMAGE, "/boot", "/dev", "/proc", "/root", "/run", "/sys"} - {"/opt", "/var"}


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
                f"This mount hides {target} of the image, and with it files that the training needs.",
                "Mount it at a path of its own, such as /data.",
            )


def check_log_dir(log_dir: t.Any, key: str, findings: Findings) -> None:
    """Warn of logs in a folder of the operating system."""
    if isinstance(log_dir, str) and log_dir and posixpath.normpath(f"/{log_dir.lstrip('/')}") in _SYSTEM_FOLDERS:
        findings.warn(
            key,
            log_dir,
            f"{log_dir} belongs to the operating system of the nodes: the run's logs would fill its disk.",
            "Give a folder of your own, such as /home/{user-id}/logs.",
        )


# Keys of a training config that only a container reads, at any depth.
CONTAINER_KEYS = ("container_image", "container_name", "shm_size", "device_list", "volume_dict")

# The capabilities that remain, and their users; Docker's seccomp filter depends on them as well.
_KEPT = {
    "IPC_LOCK": "pins memory for RDMA",
    "SYS_PTRACE": "lets ranks share GPU memory, and lets the stacks of a hanging training be read",
    "SYS_NICE": "places memory on NUMA nodes",
}
_SOCKETS = {"docker.sock", "podman.sock", "containerd.sock", "crio.sock"}
_RUNTIME = {"/run", "/var/run", "/run/docker", "/run/podman", "/run/containerd"}
_OF_SYSTEM = {"/", "/etc", "/boot", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/var", "/proc", "/sys", "/dev"}
# Configuration of the user-space drivers of RDMA devices.
_HARMLESS = {"/etc/libibverbs.d"}
_LOADED = {"LD_PRELOAD", "LD_AUDIT", "BASH_ENV", "ENV"}
# Variables that change bash itself, or that bash does not let anybody set.
_OF_BASH = {"IFS", "SHELLOPTS", "BASHOPTS", "EXECIGNORE", "CDPATH", "UID", "EUID", "PPID", "BASH_VERSINFO"}


class ContainerConfig(ConfigSection):
    """What the container sees of the node."""

    device_list: DeviceList = key(
        "Devices of the node that the container can use.", default=[], example=["/dev/dri", "/dev/kfd"]
    )
    volume_dict: Mounts = key(
        "Mounts: each path on the node, with its path in the container.",
        default={},
        example={"/home/{user-id}": "/home/{user-id}"},
    )
    env_dict: Environment = key(
        "Additional environment variables of the training; those that the plan sets win. No secrets.",
        default={},
        example={"NCCL_PROTO": "Simple"},
    )


def container_options(name: str, shm_size: str, profile: str, *, multi_node: bool) -> ContainerOptions:
    """Return how a training container is started on AMD GPUs.

    ``privileged`` follows AMD's guides to training on ROCm; `note_profile` says what ``hardened`` leaves out.
    """
    hardened = profile == HARDENED
    options: ContainerOptions = {
        "name": name,
        "network": "host" if multi_node or not hardened else "bridge",
        "ipc": "host",
        "privileged": not hardened,
        "group_add": ["video"],
        "cap_add": list(_KEPT) if hardened else ["SYS_PTRACE", "IPC_LOCK"],
        "security_opt": ["no-new-privileges"] if hardened else ["seccomp=unconfined"],
        "shm_size": shm_size,
        "ulimits": {"memlock": "-1:-1", "nofile": "1048576:1048576"},
    }
    return {**options, "cap_drop": ["ALL"]} if hardened else options


def note_profile(options: ContainerOptions, findings: Findings) -> None:
    """Note the permissions of a training container on its node; nothing if it is started without options."""
    if not options:
        return
    if options["privileged"]:
        findings.note(
            "The container is privileged: whoever chooses its image is root on the nodes. "
            f"container_profile={HARDENED} prevents that."
        )
        return
    kept = "; ".join(f"{name} {why}" for name, why in _KEPT.items() if name in options["cap_add"])
    network = "the host's network, which RDMA devices need" if options["network"] == "host" else "a network of its own"
    findings.note(
        f"The container is unprivileged, with the engine's default seccomp filter, {network}, and the host's "
        f"shared memory, which holds the token. It keeps these capabilities: {kept}. It can read and write only "
        "what its user owns."
    )


def check_container(container: ContainerConfig, findings: Findings, path: str, instead: str = "") -> None:
    """Report mounts and variables that break a container, expose a secret in the plan, or give control over the node.

    ``path`` is the key path of the section, ``instead`` what to do instead of giving a secret.
    """
    sources: dict[str, str] = {}
    for source, target in (container.volume_dict or {}).items():
        key = key_path(path, "volume_dict", source)
        if target in sources:
            findings.fault(
                key,
                target,
                f"{sources[target]} is mounted at {target} as well.",
                "Mount each at its own path.",
            )
        sources.setdefault(target, source)
        reason = _gives_away(source)
        if reason:
            findings.warn(key, target, f"{reason}.", "Mount only the folders that the training needs.")
    check_targets(container.volume_dict, key_path(path, "volume_dict"), findings)
    check_environment(container.env_dict or {}, findings, key_path(path, "env_dict"), instead)


def _gives_away(source: str) -> str | None:
    """Return in words what access mounting a path gives the container, or None for an ordinary folder."""
    real = posixpath.normpath(f"/{source.lstrip('/')}")
    if ".." in source.split("/"):
        return f"{source} resolves to {real} through .., which hides what is mounted"
    if posixpath.basename(real) in _SOCKETS or real in _RUNTIME:
        return "Anyone who reaches the engine's socket can start any container as root on the node"
    if real in _OF_SYSTEM or (real.startswith("/etc/") and real not in _HARMLESS):
        return f"Through {real} the container can change the node's operating system"
    return None


def check_environment(variables: Mapping[str, str], findings: Findings, path: str, instead: str = "") -> None:
    """Report user variables that contain secrets, inject code into every program, break any script, or cannot be read.

    ``path`` is the key path of the variables, ``instead`` what to do instead of giving a secret.
    """
    open_ones = {name: value for name, value in variables.items() if not is_secret_name(name)}
    check_values(open_ones, path, findings)
    warn_of_typos(open_ones, path, known_variables(), findings)
    for name, value in variables.items():
        if is_secret_name(name):
            findings.fault(
                key_path(path, name),
                None,
                f"{name} looks like a secret: it would appear in the plan, on the nodes and in docker inspect.",
                f"Leave it out{instead}.",
            )
        elif name in _OF_BASH:
            findings.fault(
                key_path(path, name),
                value,
                f"bash itself uses {name}: setting it would break the launch script.",
                "Leave it out.",
            )
        elif name == "PATH" and {"/bin", "/usr/bin"}.isdisjoint(value.split(":")):
            findings.fault(
                key_path(path, name),
                value,
                "It replaces the whole search path without /usr/bin or /bin, so no program is found.",
                "Give the complete path, such as /opt/venv/bin:/usr/local/bin:/usr/bin:/bin, or leave it out.",
            )
        elif name in _LOADED:
            findings.warn(
                key_path(path, name),
                value,
                f"Every program of the training, the launch script included, runs what {name} names.",
                "Leave it out, unless you know who can write that file.",
            )


def variables_of_user(
    variables: Mapping[str, str], set_by_plan: Collection[str], path: str, findings: Findings
) -> dict[str, str]:
    """Return the user's variables that the plan does not set, and warn of each that it does.

    ``path`` is the key path of the variables.
    """
    own = {*set_by_plan, "TRAINOPS_NODE", "TRAINOPS_RUN_ID"}
    for name in filter(own.__contains__, variables):
        findings.warn(
            key_path(path, name),
            variables[name],
            f"{name} has no effect: the plan sets this variable.",
            "Leave it out, and set the key that it comes from.",
        )
    return {name: value for name, value in variables.items() if name not in own}


def is_mounted(path: str, mounts: Mapping[str, str]) -> bool:
    """Return whether a mount covers a path in the container."""
    return any(path == target or path.startswith(f"{target.rstrip('/')}/") for target in mounts.values())


def warn_without_container(given: Mapping[str, t.Any], findings: Findings) -> None:
    """Warn of the keys that only a container would read when training runs without one."""
    inner = given.get("container_config")
    keys = [key for key in CONTAINER_KEYS if key in given]
    if isinstance(inner, dict):
        keys += [key_path("container_config", key) for key in CONTAINER_KEYS if inner.get(key)]
    if keys:
        findings.warn(
            "container_engine",
            "none",
            f"Without a container, these keys of config have no effect: {listed(keys)}.",
            "Leave them out, or choose a container engine.",
        )
