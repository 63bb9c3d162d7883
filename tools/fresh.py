#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the README's first commands, `make demo` and `make test`, in a bare Debian with Python, git and make.

As root, on Debian or Ubuntu. It takes the last commit. With --user, which comes first, both commands run as a user who
cannot install Debian packages. Other arguments are tests, in pytest's syntax; without any, the tests of `make test`
run. The bare Debian gets this machine's settings of pip, its proxies and certificates, and is removed at the end.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

ROOT: t.Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/integration/cluster"))

import _host
import _rootfs
from _run import ClusterError, run

PACKAGES: t.Final = ("git", "make", "python3", "python3-venv")
USER: t.Final = "engineer"
PIP: t.Final = (Path("/etc/pip.conf"), Path("/etc/xdg/pip"), Path.home() / ".config/pip", Path.home() / ".pip")
_PASSED_ON: t.Final = re.compile(r"(?:PIP_.*|(?:https?|no|all)_proxy)", re.IGNORECASE)
_PATH: t.Final = re.compile(r"(?<![\w/:])(?:file://)?(/[\w.+-]+/[\w.+-]+)[\w.+/-]*")
# The root file system becomes the root of a mount namespace, which ends with the command.
_ENTER: t.Final = """\
root=$1; shift
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
while [ "$1" != -- ]; do
  [ ! -d "$1" ] || { mkdir -p "$root$1"; mount --bind -o ro "$1" "$root$1"; }
  shift
done
shift
cd "$root"
pivot_root . mnt
umount --lazy mnt
# Not exec: the signal that ends this process with its parent is lost where a program changes its user.
"$@" || exit $?
"""


def pip_settings(root: Path, home: Path) -> tuple[dict[str, str], list[str]]:
    """Copy pip's configuration into a root file system; return its variables, and the local folders in it.

    Files in this user's home go to ``home`` there, such as ``/root``.
    """
    text = ""
    for source in filter(Path.exists, PIP):
        is_own = source.is_relative_to(Path.home())
        target = root / str(home)[1:] / source.relative_to(Path.home()) if is_own else root / str(source)[1:]
        files = sorted(source.glob("*")) if source.is_dir() else [source]
        for file in files:
            goal = target / file.name if source.is_dir() else target
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, goal)
            text += file.read_text(encoding="utf-8", errors="replace")
    variables = {name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)}
    text += "\n".join(variables.values())
    return variables, sorted(
        {path for path in _PATH.findall(text) if Path(path).is_dir() and not path.startswith("/etc/")}
    )


def prepare(root: Path, home: Path) -> tuple[dict[str, str], list[str]]:
    """Make the bare root file system with the last commit in the folder ``cluster`` of a home there."""
    _rootfs.mmdebstrap(root, "minbase", PACKAGES)
    variables, folders = pip_settings(root, home)
    for name in ("resolv.conf", "hosts"):
        shutil.copy(Path("/etc", name), root / "etc" / name)
    certificates = Path("etc/ssl/certs/ca-certificates.crt")
    if Path("/", certificates).exists():
        (root / certificates).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path("/", certificates), root / certificates)
    run(["git", "clone", "--quiet", str(ROOT), str(root / str(home)[1:] / "cluster")])
    if home.name == USER:
        run(["chroot", str(root), "useradd", "--shell", "/bin/bash", USER])
        run(["chroot", str(root), "chown", "--recursive", f"{USER}:{USER}", str(home)])
    return variables, folders


def main(arguments: list[str]) -> int:
    """Try both commands and return the exit status of the first that fails."""
    is_user = arguments[:1] == ["--user"]
    tests = arguments[is_user:]
    home = Path("/home", USER) if is_user else Path("/root")
    try:
        _host.require_root()
        _host.require(_host.TO_RUN | _host.TO_BUILD, install=False)
        with tempfile.TemporaryDirectory(prefix="trainops-fresh-") as folder:
            root = Path(folder, "root")
            print("Building a bare Debian with Python, git and make: about a minute", flush=True)
            variables, folders = prepare(root, home)
            test = ["make", "test", *([f"TESTS={shlex.join(tests)}"] if tests else [])]
            script = f"cd && cd cluster && make demo && {shlex.join(test)}"
            path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
            settings = [f"{name}={value}" for name, value in variables.items()]
            command = ["env", "-i", f"HOME={home}", path, *settings, "bash", "-c", script]
            if is_user:
                command = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups", *command]
            entered = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-ec", _ENTER, "enter"]
            return subprocess.run([*entered, str(root), *folders, "--", *command], check=False).returncode
    except ClusterError as error:
        print(f"test-fresh: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
