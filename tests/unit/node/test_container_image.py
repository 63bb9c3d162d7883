"""An image that comes from an archive: what a node says before it loads one."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.container import ContainerEngine

# Stands in for the engine, which a machine for tests need not have.
DOCKER = """#!/bin/sh
case "$1 $2" in
"image inspect") [ -e "$0.has-image" ] && echo '[{"Id": "sha256:1"}]' && exit 0; echo "No such image: $3" >&2; exit 1;;
"info --format") echo '{"ServerVersion": "27.3", "DockerRootDir": "/srv/docker"}';;
esac
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin/docker"
    program.parent.mkdir()
    program.write_text(DOCKER)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return program


@pytest.mark.parametrize(
    ("archive", "has_image", "room", "codes"),
    [
        (True, False, 5, []),
        (True, True, None, []),
        (False, True, None, []),
        (False, False, None, ["image_missing"]),
        (None, False, None, []),
    ],
)
def test_an_archive_is_needed_and_takes_room_only_where_the_image_is_not_there(
    archive: bool | None, has_image: bool, room: int | None, codes: list[str], docker: Path, tmp_path: Path
) -> None:
    if has_image:
        Path(f"{docker}.has-image").touch()
    file = tmp_path / "image.tar"
    if archive:
        file.write_text("12345")
    node: t.Any = {"image": "rocm/x:7", "image_archive": None if archive is None else str(file)}
    engine = ContainerEngine("docker")
    assert engine.room(node) == ({} if room is None else {"/srv/docker": room})
    assert [one["code"] for one in engine._no_image(node)] == codes
