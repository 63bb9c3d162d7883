"""An image that is loaded or pulled: what a node says before, and if that fails."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.container import ContainerEngine, EngineError
from ansible_collections.trainops.cluster.plugins.module_utils.node.engine_words import (
    OF_DAEMON,
    OF_IMAGE,
    image_problem,
)

# Stands in for the engine, which a machine for tests need not have.
DOCKER = """#!/bin/sh
case "$1 $2" in
"pull --quiet") cat "$0.refusal" >&2; exit 1;;
"load --input") cat "$0.refusal" >&2; exit 1;;
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


@pytest.mark.parametrize(
    ("code", "said"), [(row.code, sample) for row in (*OF_DAEMON, *OF_IMAGE) for sample in row.samples]
)
def test_each_sample_is_of_its_cause_alone(code: str, said: str) -> None:
    rows = (*OF_DAEMON, *OF_IMAGE)
    assert {row.code for row in rows if re.search(row.pattern, said, re.IGNORECASE)} == {code}


def test_an_image_that_is_not_pulled_says_why_without_the_warnings_of_each_try(docker: Path) -> None:
    (unknown,) = (row.samples[0] for row in OF_IMAGE if row.code == "image_unknown")
    Path(f"{docker}.refusal").write_text(f'time="2026" level=warning msg="Failed, retrying: no such host"\n{unknown}\n')
    node: t.Any = {"image": "reg:5000/x:7"}
    with pytest.raises(EngineError) as raised:
        ContainerEngine("docker").prepare(node)
    values = {"engine": "docker", "image": "reg:5000/x:7", "registry": "reg:5000", "said": unknown}
    assert raised.value.problems == [{"code": "image_unknown", "values": values}]


@pytest.mark.parametrize(
    ("archive", "said", "code"),
    [
        ("", "something new", "engine_refused"),
        ("", OF_DAEMON[1].samples[0], "engine_down"),
        ("/i.tar", "write /x: no space left on device", "image_disk_full"),
    ],
)
def test_a_refusal_is_of_the_daemon_the_image_or_unknown(archive: str, said: str, code: str, docker: Path) -> None:
    Path(f"{docker}.refusal").write_text(said)
    node: t.Any = {"image": "rocm/x:7", "image_archive": archive}
    with pytest.raises(EngineError) as raised:
        ContainerEngine("docker").prepare(node)
    assert [one["code"] for one in raised.value.problems] == [code]


@pytest.mark.parametrize(
    ("image", "registry"),
    [
        ("rocm/x:7", "docker.io"),
        ("x:7", "docker.io"),
        ("quay.io/a/x", "quay.io"),
        ("reg:5000/x", "reg:5000"),
        ("localhost/x", "localhost"),
    ],
)
def test_the_registry_is_in_the_name_of_the_image(image: str, registry: str) -> None:
    found = image_problem("docker", image, "manifest unknown")
    assert found is not None
    assert found["values"]["registry"] == registry
