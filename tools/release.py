#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns the fragments of the changelog into a release: the version in galaxy.yml, and CHANGELOG.md."""

from __future__ import annotations

import re
import subprocess
import sys
import typing as t
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
_VERSION = re.compile(r"\d+\.\d+\.\d+")

Version = tuple[int, ...]


def as_numbers(version: str) -> Version:
    """Return a version such as 1.2.0 as numbers that can be compared."""
    return tuple(int(part) for part in version.split("."))


def faults(root: Path, version: str) -> list[str]:
    """Return everything that prevents a release of the clone in a folder, in sentences."""
    found = []
    log = root / "changelogs/changelog.yaml"
    released = list(yaml.safe_load(log.read_text(encoding="utf-8"))["releases"]) if log.exists() else []
    newest = max(released, key=as_numbers, default=None)
    if not _VERSION.fullmatch(version):
        found.append(f"The version is {version or 'not given'}. Give three numbers: make release VERSION=1.2.0")
    elif newest and as_numbers(version) <= as_numbers(newest):
        found.append(f"The version {version} is not newer than {newest}, which is released.")
    if not any((root / "changelogs/fragments").glob("*.yml")):
        found.append("changelogs/fragments has nothing to release.")
    changed = _output(root, "git", "status", "--porcelain").splitlines()
    if changed:
        found.append(f"The clone has uncommitted changes: {', '.join(line[3:] for line in changed)}")
    return found


def release(root: Path, version: str) -> None:
    """Write the version to galaxy.yml, and move the fragments into the changelog."""
    galaxy = root / "galaxy.yml"
    text = galaxy.read_text(encoding="utf-8")
    galaxy.write_text(re.sub(r"^version: .*$", f"version: {version}", text, flags=re.MULTILINE), encoding="utf-8")
    subprocess.run(["antsibull-changelog", "release"], cwd=root, check=True)


def _output(root: Path, *command: str) -> str:
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


def main(arguments: t.Sequence[str]) -> int:
    """Release the version given, or report everything that prevents it; return the exit status."""
    version = arguments[0] if arguments else ""
    found = faults(ROOT, version)
    if found:
        print("\n".join(found), file=sys.stderr)
        return 1
    release(ROOT, version)
    print(f"CHANGELOG.md describes {version}. CONTRIBUTING.md describes the next steps.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
