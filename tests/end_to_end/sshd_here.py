"""OpenSSH servers of this machine, which play the nodes."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from collections.abc import Iterator

import pytest
from playbook_bench import ROOT
from unpacked_packages import NoPackagesError, unpack

sys.path += [str(ROOT / "benchmarks"), str(ROOT / "collections")]
from _nodes import Nodes

__all__ = ["Nodes", "needs_sshd", "sshd"]

needs_sshd = pytest.mark.usefixtures("sshd")

_PACKAGES = ("openssh-server", "libwrap0", "libnss-wrapper")
_USER = "sshd"
# Root's sshd leaves its rights to a user that its package makes.
_UNPACKED = """\
#!/bin/sh
export LD_LIBRARY_PATH={libraries} LD_PRELOAD={libraries}/libnss_wrapper.so
export NSS_WRAPPER_PASSWD={passwd} NSS_WRAPPER_GROUP=/etc/group
exec {root}/usr/sbin/sshd "$@"
"""


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have an sshd in PATH: the installed one, or an unpacked one, started as an installation does."""
    users = {user.pw_name for user in pwd.getpwall()}
    if shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin") and (os.geteuid() or _USER in users):
        yield
        return
    folder = tmp_path_factory.mktemp("sshd")
    try:
        root = unpack(folder, _PACKAGES)
    except NoPackagesError as error:
        pytest.skip(f"no OpenSSH server is installed here, and {error}")
    (libraries,) = root.glob("usr/lib/*/libnss_wrapper.so")
    with open("/etc/passwd", encoding="utf-8") as known:
        (folder / "passwd").write_text(f"{known.read()}{_USER}:x:65533:65534::/run/sshd:/usr/sbin/nologin\n")
    script = folder / "sshd"
    script.write_text(_UNPACKED.format(root=root, libraries=libraries.parent, passwd=folder / "passwd"))
    script.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        yield
