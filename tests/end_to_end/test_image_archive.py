"""A node that has neither the image nor the archive it is to be loaded from, with a docker that knows no image."""

from __future__ import annotations

import os

import pytest
from playbook_bench import Bench

DOCKER = """#!/bin/sh
case "$1" in
  info) echo '{{"ServerVersion": "27.3.1", "DockerRootDir": "{root}"}}' ;;
  ps) ;;
  pull) touch {root}/pulled; exit 1 ;;
  *) echo "Error: No such $1: $3" >&2; exit 1 ;;
esac
"""


@pytest.mark.slow
@pytest.mark.parametrize("playbook", [pytest.param("megatron_multinode.yml", marks=pytest.mark.slow), "preflight.yml"])
def test_a_missing_archive_is_a_fault_that_names_it_and_the_image(
    bench: Bench, playbook: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = bench.folder / "bin"
    programs.mkdir()
    (programs / "docker").write_text(DOCKER.format(root=bench.folder))
    (programs / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    done = bench.play(
        playbook,
        bench.inventory(node0={"container_engine": "docker"}, node1={"container_engine": "docker"}),
        bench.config(container_image="example.org/own:1"),
        container_engine="docker",
        training_image_archive="/srv/own.tar",
    )
    shown = " ".join(done.output.split())
    assert done.status != 0
    assert "the node has neither the image example.org/own:1 nor its archive /srv/own.tar" in shown, done.output
    assert "so that the image is pulled" in shown
    assert not (bench.folder / "pulled").exists()
