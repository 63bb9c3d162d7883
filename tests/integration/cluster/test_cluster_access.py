# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import subprocess
from pathlib import Path

import _access
from _network import Network
from _node import Node
from not_run import need

NETWORK = Network("trainops-0a1b2c", 72)


def nodes(state: Path) -> list[Node]:
    found = [Node(number, NETWORK, state / "nodes" / f"node{number}") for number in (1, 2)]
    for node in found:
        keys = node.folder / "upper/etc/ssh"
        keys.mkdir(parents=True)
        (keys / "ssh_host_ed25519_key.pub").write_text(f"ssh-ed25519 KEY{node.number} {node.name}\n")
    return found


def test_the_inventory_reaches_every_node_and_trusts_only_its_own_key(tmp_path: Path) -> None:
    state = tmp_path / "a folder with blanks"

    _access.write(state, nodes(state))

    group = json.loads((state / "hosts").read_text())["gpu_nodes"]
    assert group["hosts"] == {"node1": {"ansible_host": "10.77.72.1"}, "node2": {"ansible_host": "10.77.72.2"}}
    arguments = group["vars"]["ansible_ssh_common_args"]
    assert f"""'UserKnownHostsFile="{state}/known_hosts"'""" in arguments
    assert "StrictHostKeyChecking=yes" in arguments
    assert (state / "known_hosts").read_text() == "10.77.72.1 ssh-ed25519 KEY1\n10.77.72.2 ssh-ed25519 KEY2\n"


def test_the_listed_nodes_are_those_of_the_inventory(tmp_path: Path) -> None:
    _access.write(tmp_path, nodes(tmp_path))

    assert _access.listed(tmp_path) == {"node1", "node2"}


def test_without_inventory_no_node_is_listed(tmp_path: Path) -> None:
    assert _access.listed(tmp_path) == set()


def test_a_command_arrives_on_the_node_word_by_word(tmp_path: Path) -> None:
    """SSH joins words with blanks and the node's shell splits them again."""
    command = ["printf", "%s\n", "two words", "$HOME"]

    *_, joined = _access.ssh_command(tmp_path, nodes(tmp_path)[0], command)

    assert subprocess.check_output(["sh", "-c", joined], text=True) == "two words\n$HOME\n"


def test_the_key_pair_is_made_once(tmp_path: Path) -> None:
    need("ssh-keygen")
    first = _access.public_key(tmp_path)

    assert _access.public_key(tmp_path) == first
    assert (tmp_path / "id").stat().st_mode & 0o077 == 0
