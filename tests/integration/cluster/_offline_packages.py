# SPDX-License-Identifier: GPL-3.0-or-later
"""A customize hook of mmdebstrap: put packages, and their missing dependencies, into a folder for apt.

usage: _offline_packages.py ROOT PACKAGE...

Fills ROOT/srv/packages with the .deb files and their index, a flat repository (`deb [trusted=yes] file:/srv/packages
./`). mmdebstrap's own apt downloads them, with the sources and keys of the root file system's own packages.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path


def stanza(package: Path) -> str:
    """The entry of one .deb file in a `Packages` index (see Debian's wiki, "Repository format")."""
    control = subprocess.run(["dpkg-deb", "--field", package], capture_output=True, text=True, check=True).stdout
    content = package.read_bytes()
    return (
        f"{control.rstrip()}\n"
        f"Filename: ./{package.name}\n"
        f"Size: {len(content)}\n"
        f"SHA256: {hashlib.sha256(content).hexdigest()}\n"
    )


def main(root: Path, packages: list[str]) -> None:
    """Download ``packages`` and index them."""
    archives = root / "var/cache/apt/archives"
    for installed in archives.glob("*.deb"):  # the packages of the root file system
        installed.unlink()
    subprocess.run(
        ["apt-get", "--quiet=2", "--yes", "--no-install-recommends", "--download-only", "install", *packages],
        env={**os.environ, "APT_CONFIG": os.environ["MMDEBSTRAP_APT_CONFIG"]},
        stdout=sys.stderr,
        check=True,
    )
    repository = root / "srv/packages"
    repository.mkdir(parents=True)
    for package in archives.glob("*.deb"):
        shutil.move(package, repository)
    (repository / "Packages").write_text("\n".join(map(stanza, sorted(repository.glob("*.deb")))))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
