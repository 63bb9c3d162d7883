"""ansible-builder takes execution-environment.yml, and everything that a job needs is in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(sys.executable).parent
BUILDER = BIN / "ansible-builder"


@pytest.mark.skipif(not BUILDER.exists(), reason="ansible-builder is not installed; run `make test`")
def test_the_build_context_holds_requirements_collection_and_ssh(tmp_path: Path) -> None:
    for name in ("execution-environment.yml", "requirements.txt", "bindep.txt"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "trainops-cluster-1.0.0.tar.gz").write_bytes(b"the built collection")
    # It asks a container engine for nothing but its name.
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    command = [str(BUILDER), "create", "--context", "context"]
    command += ["--output-filename", "Containerfile"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    context = tmp_path / "context"
    steps = (context / "Containerfile").read_text()
    assert "COPY _build/collection /tmp/collection" in steps
    assert (context / "_build/collection/trainops-cluster-1.0.0.tar.gz").read_bytes() == b"the built collection"
    assert "openssh-clients" in (context / "_build/bindep.txt").read_text()
    assert (context / "_build/requirements.txt").read_text() == (ROOT / "requirements.txt").read_text()


@pytest.mark.skipif(not BUILDER.exists(), reason="ansible-builder is not installed; run `make test`")
def test_an_image_that_lists_the_collection_gets_what_it_needs(tmp_path: Path) -> None:
    collection = tmp_path / "ansible_collections/trainops/cluster"
    collection.mkdir(parents=True)
    for name in ("galaxy.yml", "meta", "requirements.txt", "bindep.txt"):
        (collection / name).symlink_to(ROOT / name)
    command = [str(BUILDER), "introspect", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    needed = yaml.safe_load(done.stdout)
    assert "openssh-clients [platform:rpm]" in {line.partition("  #")[0] for line in needed["system"]}
    builders_own = {"ansible-core", "ansible-runner"}
    wanted = {Requirement(line) for line in (ROOT / "requirements.txt").read_text().splitlines()[1:]}
    found = {Requirement(line.partition("#")[0]) for line in needed["python"]}
    assert {requirement for requirement in wanted if requirement.name not in builders_own} <= found


def test_versions_stand_in_one_place_only() -> None:
    """The two packages that ansible-builder installs itself are the ones in requirements.txt."""
    wanted = (ROOT / "requirements.txt").read_text().splitlines()
    dependencies = yaml.safe_load((ROOT / "execution-environment.yml").read_text())["dependencies"]
    assert dependencies["ansible_core"]["package_pip"] in wanted
    assert dependencies["ansible_runner"]["package_pip"] in wanted
