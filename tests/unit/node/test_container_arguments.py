# SPDX-License-Identifier: GPL-3.0-or-later
"""How the engine is asked to start a container, for each profile of a plan."""

from __future__ import annotations

import os
import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.container import ContainerEngine
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.container import container_options


def arguments(engine: str, profile: str, *, multi_node: bool) -> list[str]:
    node: dict[str, t.Any] = {
        "node": "gpu0",
        "node_rank": 0,
        "image": "image",
        "run_folder": "/run-1",
        "devices": [],
        "mounts": [],
        "container_options": container_options("training", "64G", profile, multi_node=multi_node),
    }
    return ContainerEngine(engine).run_arguments(node, "run-1")


@pytest.mark.parametrize(
    ("engine", "user", "added"),
    [("docker", 0, []), ("docker", 1000, ["DAC_OVERRIDE"]), ("podman", 0, []), ("podman", 1000, [])],
)
def test_a_hardened_container_may_override_owners_only_where_its_root_owns_nothing(
    engine: str, user: int, added: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    words = arguments(engine, "hardened", multi_node=False)
    given = [words[place + 1] for place, word in enumerate(words) if word == "--cap-add"]
    assert given == ["IPC_LOCK", "SYS_PTRACE", "SYS_NICE", *added]
    assert words[words.index("--cap-drop") + 1] == "ALL"
    assert words[words.index("--network") + 1] == "bridge"
    assert words[words.index("--security-opt") + 1] == "no-new-privileges"
    assert "--privileged" not in words


def test_a_privileged_container_is_that_of_the_guide() -> None:
    words = arguments("docker", "privileged", multi_node=True)
    assert "--privileged" in words
    assert "--cap-drop" not in words
    assert words[words.index("--security-opt") + 1] == "seccomp=unconfined"
