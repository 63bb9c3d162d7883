"""Debian packages in a folder of a test's own: installed, they would start daemons of this machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


class NoPackagesError(Exception):
    """The packages cannot be had on this machine."""


def unpack(folder: Path, packages: tuple[str, ...]) -> Path:
    """Fetch packages, and return the root below a folder that they are unpacked to; or `NoPackagesError`."""
    if not shutil.which("dpkg-deb"):
        raise NoPackagesError("this is no Debian, whose packages are used here")
    root, fetched_to = folder / "root", folder / "packages"
    for path in (root, fetched_to):
        path.mkdir()
    command = ["apt-get", "download", *packages]
    fetched = subprocess.run(command, cwd=fetched_to, capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        raise NoPackagesError(f"{', '.join(packages)} cannot be had: {fetched.stderr.strip()}")
    for package in fetched_to.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", str(package), str(root)], check=True)
    return root
