# SPDX-License-Identifier: GPL-3.0-or-later
"""An earlier state of this repository, which the same run measures beside the present one."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import typing as t
from pathlib import Path

ROOT: t.Final = Path(__file__).resolve().parents[1]
# Until a release has a tag.
_UNTAGGED: t.Final = "972a5f18"


def last_release() -> str:
    """Return the tag of the last release; a commit as long as there is no tag."""
    done = subprocess.run(
        ["git", "describe", "--tags", "--abbrev=0"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or _UNTAGGED


@contextlib.contextmanager
def checkout(commit: str | None) -> t.Iterator[Path | None]:
    """Give the files of a commit in a folder of their own, compiled; None, which prints why, where there is none."""
    if not commit or not shutil.which("git"):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="trainops-release-") as name:
        archive = Path(name) / "release.tar"
        done = subprocess.run(
            ["git", "archive", f"--output={archive}", commit], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            print(f"without {commit}: {done.stderr.strip()}", flush=True)
            yield None
            return
        root = Path(name) / "release"
        with tarfile.open(archive) as files:
            files.extractall(root, filter="tar")
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(root / "plugins")], check=False)
        yield root
