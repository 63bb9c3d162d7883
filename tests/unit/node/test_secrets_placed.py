from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.secret_files import place, remove


@pytest.mark.parametrize(
    ("given", "of_node", "sent", "placed"),
    [
        ({"hf_token": "given"}, "of the node", {"hf_token": "of the controller"}, "given"),
        ({}, "of the node", {"hf_token": "of the controller"}, "of the node"),
        ({}, None, {"hf_token": "of the controller\n"}, "of the controller"),
        ({}, None, {}, ""),
    ],
)
def test_what_is_given_goes_first_then_the_nodes_own_file_then_the_controllers(
    tmp_path: Path, given: dict[str, str], of_node: str | None, sent: dict[str, str], placed: str
) -> None:
    source, target = tmp_path / "source", tmp_path / "memory/hf_token"
    if of_node:
        source.write_text(of_node)
    node = {"secrets": [{"name": "hf_token", "source": str(source), "target": str(target)}]}
    warnings = place(node, given, sent)
    assert target.read_text() == placed
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert len(warnings) == (not placed)
    remove(node)
    assert not target.parent.exists()
