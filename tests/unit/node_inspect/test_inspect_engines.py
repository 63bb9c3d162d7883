from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.engines import (
    engine_facts,
    image_in,
    version_in,
)
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.tools import ToolError


def test_what_docker_and_podman_say_of_themselves() -> None:
    docker = {"ServerVersion": "27.3.1", "DockerRootDir": "/var/lib/docker"}
    assert version_in("docker", json.dumps(docker)) == ("27.3.1", "/var/lib/docker")
    podman = {"version": {"Version": "4.9.4"}, "store": {"graphRoot": "/var/lib/containers/storage"}}
    assert version_in("podman", json.dumps(podman)) == ("4.9.4", "/var/lib/containers/storage")


def test_a_docker_without_its_daemon_says_why() -> None:
    with pytest.raises(ToolError, match=r"^docker's daemon does not answer: Cannot connect$"):
        version_in("docker", json.dumps({"ServerErrors": ["Cannot connect"]}))


def test_an_image_is_known_by_its_content_in_either_engine() -> None:
    digests = ["reg/image@sha256:bb", "other/image@sha256:aa", "again/image@sha256:aa"]
    assert image_in(json.dumps([{"Id": "sha256:cafe", "RepoDigests": digests}])) == {
        "id": "sha256:cafe",
        "digests": ["sha256:aa", "sha256:bb"],
    }
    assert image_in(json.dumps([{"Id": "cafe", "RepoDigests": None}])) == {"id": "sha256:cafe", "digests": []}


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that stands in for docker; its output looks like the newest version's."""
    program = tmp_path / "docker"
    program.write_text(
        "#!/bin/sh\n"
        f'if [ "$1" = info ]; then echo \'{{"ServerVersion": "27.3.1", "DockerRootDir": "{tmp_path}"}}\'; exit; fi\n'
        'if [ "$3" = known ]; then echo \'[{"Id": "sha256:cafe"}]\'; exit; fi\n'
        'if [ "$3" = broken ]; then echo "Error: disk gone" >&2; exit 1; fi\n'
        'echo "Error response from daemon: No such image: $3" >&2; exit 1\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return program


def test_an_engine_with_and_without_the_image(docker: Path) -> None:
    facts = engine_facts("docker", "known")
    assert facts is not None
    assert (facts["version"], facts["image"], facts["problem"]) == (
        "27.3.1",
        {"id": "sha256:cafe", "digests": []},
        None,
    )
    assert (facts["storage"]["path"], facts["storage"]["kind"]) == (str(docker.parent), "directory")
    unknown = engine_facts("docker", "unknown")
    assert unknown is not None
    assert (unknown["image"], unknown["problem"]) == (None, None)


def test_an_engine_that_fails_says_how(docker: Path) -> None:
    assert docker.exists()
    facts = engine_facts("docker", "broken")
    assert facts is not None
    assert facts["problem"] == "docker image failed (exit status 1): Error: disk gone"


@pytest.mark.parametrize(
    ("image", "search", "configured", "known"),
    [
        ("docker.io/rocm/megatron-lm:v25.6", None, "", True),
        ("registry:5000/own", None, "", True),
        ("localhost/own:1", None, "", True),
        ("rocm/megatron-lm:v25.6", None, "", False),
        ("busybox:1.36", None, "", False),
        ("rocm/megatron-lm:v25.6", ["docker.io"], 'short-name-mode = "enforcing"', True),
        ("rocm/megatron-lm:v25.6", ["registry.redhat.io", "docker.io"], "", True),
        # RHEL 9.
        ("rocm/megatron-lm:v25.6", ["registry.redhat.io", "docker.io"], 'short-name-mode = "enforcing"', False),
        ("rocm/megatron-lm@sha256:cafe", None, '[aliases]\n  "rocm/megatron-lm" = "docker.io/rocm/megatron-lm"', True),
    ],
)
def test_podman_may_not_know_the_registry_of_a_short_name(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    image: str,
    search: list[str] | None,
    configured: str,
    known: bool,
) -> None:
    info = {
        "version": {"Version": "4.9.4"},
        "store": {"graphRoot": "/"},
        "registries": {"search": search} if search else {},
    }
    (tmp_path / "podman").write_text(
        f"#!/bin/sh\n[ $1 = info ] && echo '{json.dumps(info)}' && exit\necho 'Error: image not known' >&2; exit 125\n"
    )
    (tmp_path / "podman").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "etc/containers/registries.conf.d").mkdir(parents=True)
    (tmp_path / "etc/containers/registries.conf.d/own.conf").write_text(configured)
    facts = engine_facts("podman", image, str(tmp_path))
    assert facts is not None
    assert (facts["image"], facts["knows_registry"]) == (None, known)


def test_an_engine_that_is_not_installed_is_none() -> None:
    assert engine_facts("no-such-engine", None) is None
