#!/usr/bin/python3 -ISE
# SPDX-License-Identifier: GPL-3.0-or-later
"""An OCI runtime before runc, for machines whose root lacks a capability.

GPU training is started with ``--ulimit memlock=-1:-1`` and ``--privileged``. A root without CAP_SYS_RESOURCE (as in
some virtual machines and containers) can grant neither: the kernel refuses to raise a hard limit, and docker asks for
all capabilities there are. This program lowers, in the bundle's config.json, the values that this kernel would refuse
to those it has, writes the changes to /var/log/oci-clamp.log, and becomes runc. The engine's record of the user's wish
(``docker inspect``) stays as it is.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import typing as t
from pathlib import Path

RUNTIME: t.Final = "/usr/sbin/runc"
LOG: t.Final = Path("/var/log/oci-clamp.log")

# In the order of their numbers (linux/capability.h).
CAPABILITIES: t.Final = (
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
)


def clamp(process: dict[str, t.Any], allowed: set[str], hard_limits: dict[str, int]) -> list[str]:
    """Lower ``process`` (OCI runtime specification, config.md, "process") in place; return the changes in words.

    ``allowed`` are the available capabilities, as ``CAP_…``. ``hard_limits`` are the highest possible values, by
    ``RLIMIT_…``; a limit that is not in it may be anything.
    """
    done = []
    for limit in process.get("rlimits") or []:
        highest = hard_limits.get(limit["type"])
        for bound in ("hard", "soft"):
            if highest is not None and limit[bound] > highest:
                done.append(f"{limit['type']} {bound} {limit[bound]} -> {highest}")
                limit[bound] = highest
    for kind, names in (process.get("capabilities") or {}).items():
        refused = [name for name in names if name not in allowed]
        if refused:
            done.append(f"{kind} without {' '.join(refused)}")
            process["capabilities"][kind] = [name for name in names if name in allowed]
    return done


def bounding_set(status: str) -> set[str]:
    """The capabilities that a process can have at most; ``status`` is the text of its /proc/PID/status."""
    mask = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapBnd:"))
    return {f"CAP_{name}" for number, name in enumerate(CAPABILITIES) if mask >> number & 1}


def hard_limits(allowed: set[str]) -> dict[str, int]:
    """This process's hard limits if they bind: without infinite ones, and none for a process that may raise them."""
    if "CAP_SYS_RESOURCE" in allowed:
        return {}
    names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    limits = {name: resource.getrlimit(getattr(resource, name))[1] for name in names}
    return {name: limit for name, limit in limits.items() if limit != resource.RLIM_INFINITY}


def document(arguments: list[str]) -> tuple[Path, bool] | None:
    """The file from which runc, called with ``arguments``, starts; and whether it is a bundle's config.json.

    None for commands that start nothing.
    """
    if "create" in arguments or "run" in arguments:
        return Path(_option(arguments, "--bundle", "-b") or ".", "config.json"), True
    specification = _option(arguments, "--process", "-p") if "exec" in arguments else None
    return (Path(specification), False) if specification else None


def _option(arguments: list[str], *names: str) -> str | None:
    for position, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in names:
            return value if equals else next(iter(arguments[position + 1 :]), None)
    return None


def main(arguments: list[str]) -> t.NoReturn:
    """Lower the values that must be lowered, then become the runtime."""
    found = document(arguments)
    if found:
        path, is_bundle = found
        content = json.loads(path.read_text())
        allowed = bounding_set(Path("/proc/self/status").read_text())
        done = clamp(content["process"] if is_bundle else content, allowed, hard_limits(allowed))
        if done:
            path.write_text(json.dumps(content))
            with LOG.open("a") as log:
                log.write(f"{path}: {'; '.join(done)}\n")
    os.execv(RUNTIME, [RUNTIME, *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
