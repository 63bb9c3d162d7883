# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders that nobody else can have written: the user's private one on this machine, and the folder of a run.

Who we defend against: any other user of the node who is not root. They may run any program with our labels in its
environment, and may create files, folders and links, of any name and beforehand, wherever everybody may write (/tmp,
/dev/shm, an open log_dir). With that they must not learn a secret, make us write or run anything of theirs, end
anything, or hold the node. The most they can achieve is that a run is refused, with the path and their name in the
message.

Whom we trust: root, the user that we run as, and those to whom the user's own choices give his files: the owner of the
folder that ``log_dir`` lies in, and its group. Who may talk to the docker daemon is root.

So nobody else can replace any folder on the path to our files. Paths are used only after
the chain has been checked, from the root on; a path that was safe once stays safe.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex
import stat

from .problems import ProblemError

# For a machine that stands for the nodes of several clusters, such as one that runs tests side by side.
FOLDER_VARIABLE = "TRAINOPS_LOCK_FOLDER"

_OPEN_TO_ALL = 0o002
_OPEN_TO_OTHERS = 0o022
_MOST_LINKS = 40


class UntrustedError(ProblemError):
    """Somebody else could have written this path; the problem says who, and what to do."""


def private_folder(make: bool = True) -> str | None:
    """Return the folder on this machine that only this user can write; it is made if missing.

    Without ``make`` it is None if missing.
    """
    path = os.environ.get(FOLDER_VARIABLE) or _default_private_folder()
    if make:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
    elif not os.path.lexists(path):
        return None
    check_own(path)
    if make:
        os.chmod(path, 0o700)
    return path


def _default_private_folder() -> str:
    uid = os.geteuid()
    if uid == 0:
        return "/run/trainops"
    for runtime in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{uid}"):
        if os.path.isabs(runtime) and _is_private(runtime):
            return os.path.join(runtime, "trainops")
    # Many machines may share a home, and the files here are valid until the next boot of one.
    with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as stream:
        machine = f"{os.uname().nodename}-{stream.read().strip()}"
    return os.path.join(_home(uid), ".local/state/trainops", machine)


def _home(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        return os.path.expanduser("~")


def _is_private(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == 0o700


def check_own(path: str) -> None:
    """Raise `UntrustedError` unless a path is this user's folder (not a link) that nobody else can write."""
    found = os.lstat(path)
    if found.st_uid != os.geteuid():
        raise UntrustedError("folder_of_other", path=path, owner=_name(found.st_uid), user=_name(os.geteuid()))
    if not stat.S_ISDIR(found.st_mode):
        raise UntrustedError("folder_is_link", path=path)
    if found.st_mode & _OPEN_TO_OTHERS:
        mode = f"{stat.S_IMODE(found.st_mode):04o}"
        raise UntrustedError("folder_open", path=path, mode=mode, quoted=shlex.quote(path))


def has_run_folder(path: str) -> bool:
    """Return whether the folder of a run, ``<log_dir>/<run_id>/<node>``, exists; `UntrustedError` if it is not ours."""
    try:
        _enter(path, make=False)
    except FileNotFoundError:
        return False
    return True


def make_run_folder(path: str) -> None:
    """Make the folder of a run if it is missing; `UntrustedError` if the path is not ours."""
    _enter(path, make=True)


def _enter(path: str, make: bool) -> None:
    """Go from the root to a run's folder. Its last two parts are ours, and nobody can exchange a part before them."""
    of_run, node = os.path.split(path)
    log_dir, run_id = os.path.split(of_run)
    here = "/"
    parts = log_dir.split("/")[::-1]
    links = 0
    while parts:
        part = parts.pop()
        if part in ("", "."):
            continue
        if part == "..":
            here = os.path.dirname(here)
            continue
        below = _step(here, part, 0o755 if make else None)
        if not os.path.islink(below):
            here = below
            continue
        links += 1
        if links > _MOST_LINKS:
            raise UntrustedError("loop_of_links", path=log_dir)
        target = os.readlink(below)
        parts += target.split("/")[::-1]
        here = "/" if target.startswith("/") else here
    for part, mode in ((run_id, 0o755), (node, 0o750)):
        here = _step(here, part, mode if make else None)
        check_own(here)


def _step(folder: str, part: str, make: int | None) -> str:
    """Return the path of a folder's part that nobody but its owner can exchange; make it with a mode, if given."""
    path = os.path.join(folder, part)
    mode = os.lstat(folder).st_mode
    if mode & _OPEN_TO_ALL and not mode & stat.S_ISVTX:
        raise UntrustedError("parent_open", path=folder, quoted=shlex.quote(folder))
    if make is not None:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, make)
    owner = os.lstat(path).st_uid
    if mode & _OPEN_TO_ALL and owner not in (0, os.geteuid()):
        raise UntrustedError("made_by_other", path=path, owner=_name(owner), folder=folder)
    return path


def _name(uid: int) -> str:
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"
