#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs the programs that the tests need and this machine lacks, before `make test`.

It does so on Debian and Ubuntu, as root or with sudo without a password. Elsewhere it lists the missing packages, and
the tests that need them are skipped. The exit status is always 0. Any Python 3 runs this: there is no environment yet.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/integration/cluster"))

from _host import TO_BUILD, TO_RUN, is_there, missing_packages

__all__ = ["PACKAGES", "is_there"]

# program in PATH, or file -> the Debian package that brings it
PACKAGES: t.Final = {
    **TO_RUN,
    **TO_BUILD,
    "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf": "fonts-liberation",
    "chromium": "chromium",
    "curl": "curl",
    "ethtool": "ethtool",
    "faketime": "faketime",
    "fio": "fio",
    "mkfs.ext4": "e2fsprogs",
    "shellcheck": "shellcheck",
    "su": "util-linux",
    "wget": "wget",
}


def missing() -> list[str]:
    """Names of the Debian packages that this machine lacks."""
    venv = [] if importlib.util.find_spec("ensurepip") else ["python3-venv"]
    return missing_packages(PACKAGES) + venv


def may_install() -> list[str] | None:
    """Return the first words of a command that installs, or None if this user cannot install Debian packages."""
    if not shutil.which("apt-get"):
        return None
    if os.geteuid() == 0:
        return []
    asked = ["sudo", "--non-interactive"]
    if shutil.which("sudo") and subprocess.run([*asked, "true"], check=False, capture_output=True).returncode == 0:
        return asked
    return None


def install(packages: list[str], before: list[str]) -> None:
    """Install packages; if that fails for all at once, each one alone."""
    apt_get = [*before, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet", "--yes"]
    arguments = ["install", "--no-install-recommends"]
    subprocess.run([*apt_get, "update"], check=False)
    if subprocess.run([*apt_get, *arguments, *packages], check=False).returncode and len(packages) > 1:
        for package in packages:
            subprocess.run([*apt_get, *arguments, package], check=False)


def main() -> None:
    """Install the missing packages, or list them."""
    packages = missing()
    before = may_install()
    if packages and before is not None:
        print(f"The tests use Debian packages that this machine lacks. Installing {', '.join(packages)}", flush=True)
        install(packages, before)
        packages = missing()
    if packages:
        print(
            f"Not installed (Debian packages): {', '.join(packages)}. Tests that need them are skipped, and the "
            "table at the end lists them.",
            flush=True,
        )


if __name__ == "__main__":
    main()
