# SPDX-License-Identifier: GPL-3.0-or-later
"""The node's own RDMA provider library in a container: what may be mounted, and how it gets into place.

A training config mounts the provider of the node's vendor driver beside the image's, with ``.host`` at its end, as AMD
CVS configs do: ``/usr/local/lib/libbnxt_re-rdmav34.so`` on the node becomes
``/usr/lib/x86_64-linux-gnu/libibverbs/libbnxt_re-rdmav34.so.host`` in the container. It has to replace the image's own
provider, which often does not know the ABI of the node's kernel driver. libibverbs then drops the device with a
warning, and the training goes over TCP, unnoticed but slow.
"""

from __future__ import annotations

import os
import shlex
import stat
import typing as t

from .problems import Problem, problem

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Mount = Mapping[str, t.Any]

HOST_LIBRARY = ".so.host"
# AMD's configs mount it; node_prep links it to rdma-core's own folder.
DRIVERS = "/lib/libibverbs.d"
FUNCTION = "use_rdma_library_of_node"

# How many RDMA devices libibverbs offers, asked of the library that NCCL and RCCL load, with no tool of rdma-core.
COUNT_PROGRAM = (
    "import ctypes; verbs = ctypes.CDLL('libibverbs.so.1'); count = ctypes.c_int(); "
    "verbs.ibv_get_device_list(ctypes.byref(count)); print(count.value)"
)
_ABI_WARNING = "does not support the kernel ABI"


def abi_warnings(errors: str) -> list[str]:
    """Return the lines in which libibverbs says that a provider does not know the kernel driver's ABI, each once."""
    return list(dict.fromkeys(row.strip() for row in errors.splitlines() if _ABI_WARNING in row))


def kind_of(path: str) -> str:
    """Return the kind of a path, symbolic links followed: ``file``, ``directory``, ``other`` or ``missing``."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return "missing"
    if stat.S_ISREG(mode):
        return "file"
    return "directory" if stat.S_ISDIR(mode) else "other"


class _Problem(t.NamedTuple):
    """A kind of problem: the reason, and the command; or the action of a person if no command ``fixes`` it."""

    reason: str
    command: str
    fixes: bool = False


_NO_SOURCE = "{path} does not exist, and a container engine would create an empty folder there, owned by root"
_PROBLEMS = {
    "device_missing": _Problem(
        "the device {path} does not exist",
        "load its kernel driver; to check: lsmod | grep -E 'amdgpu|nvidia|ib_uverbs'",
    ),
    "mount_missing": _Problem(
        _NO_SOURCE, "mount what belongs at {quoted}, or remove it from volume_dict in the config"
    ),
    "verbs_missing": _Problem(_NO_SOURCE, "modprobe -a ib_uverbs rdma_ucm", fixes=True),
    "drivers_missing": _Problem(_NO_SOURCE, "run playbooks/node_prep.yml with your inventory and --tags rdma"),
    "library_missing": _Problem(
        "the library {path} does not exist",
        "put the driver vendor's library there; to find it: find / -xdev -name {name}",
    ),
    "library_is_folder": _Problem(
        "{path} must be a library, but is a folder, which container engines create for a missing source",
        "rmdir {quoted}",
        fixes=True,
    ),
    "library_is_no_file": _Problem(
        "{path} must be a library, but is not a regular file", "put the library there; to check: ls -l {quoted}"
    ),
}
_OF_LIBRARIES = {"missing": "library_missing", "directory": "library_is_folder"}


class MountProblem(t.NamedTuple):
    """Why a path of the node cannot be given to a container as intended: the code of the problem, and the path."""

    code: str
    path: str

    @property
    def reason(self) -> str:
        """Return what is wrong, without a full stop."""
        return _PROBLEMS[self.code].reason.format(path=self.path)

    @property
    def command(self) -> str:
        """Return the command that repairs it, or the action that a person has to take."""
        name, quoted = shlex.quote(os.path.basename(self.path)), shlex.quote(self.path)
        return _PROBLEMS[self.code].command.format(name=name, quoted=quoted)

    @property
    def fixes(self) -> bool:
        """Return whether the command repairs it without a person."""
        return _PROBLEMS[self.code].fixes


def mount_problem(mount: Mount, kind: str) -> MountProblem | None:
    """Return the problem of a mount whose source is of a kind from `kind_of`, or None.

    If a mount's source is missing, a container engine creates an empty folder there, owned by root. For a library that
    is worse than nothing, and it hides the missing file from then on.
    """
    source, target = mount["source"], mount["target"]
    if target.endswith((".so", HOST_LIBRARY)):
        code = _OF_LIBRARIES.get(kind, "library_is_no_file")
        return None if kind == "file" else MountProblem(code, source)
    if kind != "missing":
        return None
    if source.startswith("/dev/infiniband"):
        return MountProblem("verbs_missing", source)
    return MountProblem("drivers_missing" if source == DRIVERS else "mount_missing", source)


def mount_problems(mounts: Iterable[Mount]) -> list[Problem]:
    """Return the problems of a plan's mounts on this node.

    Those that are ``staged`` are left out: staging the run makes them.
    """
    wanted = [mount for mount in mounts if not mount.get("staged")]
    found = ((mount["source"], mount_problem(mount, kind_of(mount["source"]))) for mount in wanted)
    return [
        problem("mount_wrong", source=source, reason=one.reason, command=one.command) for source, one in found if one
    ]


def library_lines(mounts: Iterable[Mount], devices: int) -> list[str]:
    """Return lines of bash that put mounted provider libraries in place in the container and prove them; or none.

    ``devices`` is the number of RDMA devices of the node. The lines define the function `FUNCTION`. It returns 0 where
    libibverbs offers as many devices and warns of no ABI; else it prints why, and returns 1. A launch script calls it
    right before the training: ``use_rdma_library_of_node && bash train.sh``.
    """
    libraries = [mount["target"] for mount in mounts if mount["target"].endswith(HOST_LIBRARY)]
    if not libraries:
        return []
    in_place = [
        f"cp -f -- {shlex.quote(library)} {shlex.quote(library[: -len('.host')])} || return 1" for library in libraries
    ]
    body = [
        "# The provider library of the node in place of the image's, because the node's kernel driver needs it.",
        *in_place,
        "local output count",
        f"output=$(python3 -c {shlex.quote(COUNT_PROGRAM)} 2>&1)",
        "count=${output##*$'\\n'}",
        f'if [[ $output == *"{_ABI_WARNING}"* || $count != {devices} ]]; then',
        '  printf "%s\\n" "$output"',
        f'  printf "RDMA devices: {devices} on the node, %s in the container\\n" "$count"',
        "  return 1",
        "fi",
    ]
    return [f"{FUNCTION}() {{", *(f"  {row}" for row in body), "}"]
