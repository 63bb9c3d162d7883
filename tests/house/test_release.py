"""A release moves the fragments into the changelog, and says beforehand all that speaks against it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
# Without the tester's own git settings at home, such as hooks and signatures.
ENVIRONMENT = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


class Clone:
    """A small clone of the collection, with git."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in (
            "galaxy.yml",
            "CHANGELOG.md",
            "meta",
            "changelogs",
            "plugins/modules",
            "plugins/doc_fragments",
            ".gitignore",
        ):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, root / name)
        shutil.rmtree(root / "changelogs/fragments")
        (root / "changelogs/changelog.yaml").unlink(missing_ok=True)
        (root / "tools").mkdir()
        shutil.copy(ROOT / "tools/release.py", root / "tools")
        self.note("first", "The first one.")
        self.git("init", "--quiet")
        self.commit()

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=self.root, env=ENVIRONMENT, check=True, capture_output=True)

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "state")

    def untracked(self) -> list[str]:
        listed = ["git", "ls-files", "--others", "--exclude-standard"]
        done = subprocess.run(listed, cwd=self.root, env=ENVIRONMENT, check=True, capture_output=True, text=True)
        return done.stdout.splitlines()

    def note(self, name: str, sentence: str) -> None:
        folder = self.root / "changelogs/fragments"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.yml").write_text(f"---\nminor_changes:\n  - {sentence}\n")

    def release(self, *version: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(self.root / "tools/release.py"), *version],
            env={**ENVIRONMENT, "PATH": f"{BIN}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    root = tmp_path / "ansible_collections/trainops/cluster"
    root.mkdir(parents=True)
    return Clone(root)


@pytest.mark.slow
def test_fragments_become_the_changelog_of_a_version(clone: Clone) -> None:
    done = clone.release("2.0.0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert yaml.safe_load((clone.root / "galaxy.yml").read_text())["version"] == "2.0.0"
    text = (clone.root / "CHANGELOG.md").read_text()
    assert "v2\\.0\\.0" in text
    assert "The first one" in text
    assert list((clone.root / "changelogs/fragments").glob("*.yml")) == []
    assert clone.untracked() == ["changelogs/changelog.yaml"]


def test_all_that_speaks_against_a_release_is_told_at_once(clone: Clone) -> None:
    shutil.rmtree(clone.root / "changelogs/fragments")
    (clone.root / "changelogs/changelog.yaml").write_text("releases: {2.0.0: {}}\n")
    clone.commit()
    (clone.root / "more.txt").write_text("")
    done = clone.release("2.0.0")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "The version 2.0.0 is not newer than 2.0.0, which is released.",
        "changelogs/fragments has nothing to release.",
        "The clone has uncommitted changes: more.txt",
    ]


@pytest.mark.parametrize("version", [(), ("next",), ("1.2",)])
def test_a_version_is_three_numbers(clone: Clone, version: tuple[str, ...]) -> None:
    done = clone.release(*version)
    assert done.returncode == 1
    assert "make release VERSION=1.2.0" in done.stderr
