"""OpenSSH servers of this machine, which play the nodes."""

from __future__ import annotations

import os
import pwd
import shutil
import sys

import pytest
from playbook_bench import ROOT

sys.path += [str(ROOT / "benchmarks"), str(ROOT / "collections")]
from _nodes import Nodes

__all__ = ["Nodes", "needs_sshd"]


def _without_an_sshd() -> str | None:
    if not shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin"):
        return "no OpenSSH server is installed here"
    if os.geteuid() == 0 and not (os.path.isdir("/run/sshd") and "sshd" in {user.pw_name for user in pwd.getpwall()}):
        return "an OpenSSH server that root starts needs the user sshd and /run/sshd, as its package makes them"
    return None


needs_sshd = pytest.mark.skipif(bool(_without_an_sshd()), reason=str(_without_an_sshd()))
