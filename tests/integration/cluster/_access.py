# SPDX-License-Identifier: GPL-3.0-or-later
"""How a cluster is reached: key pair, known_hosts, and an Ansible inventory that uses both."""

from __future__ import annotations

import json
import shlex
import typing as t

from _node import new_key

if t.TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from _node import Node

GROUP: t.Final = "gpu_nodes"


def public_key(state: Path) -> str:
    """The cluster's public key; the pair is made if there is none."""
    if not (state / "id").exists():
        new_key(state / "id", "trainops.cluster test cluster")
    return (state / "id.pub").read_text()


def ssh_options(state: Path) -> list[str]:
    """The needs of an SSH client besides key and address; host keys are checked, against the nodes' own keys only."""
    return [
        *("-o", f'UserKnownHostsFile="{state / "known_hosts"}"'),  # a list of files, split at blanks
        *("-o", "GlobalKnownHostsFile=/dev/null"),
        *("-o", "StrictHostKeyChecking=yes"),
        *("-o", "IdentitiesOnly=yes"),
    ]


def ssh_command(state: Path, node: Node, command: Sequence[str]) -> list[str]:
    """The SSH client's argument vector that runs ``command``, or a shell if it is empty, on ``node``."""
    return [
        *("ssh", "-o", "LogLevel=ERROR", "-i", str(state / "id")),
        *("-o", "KexAlgorithms=^curve25519-sha256"),  # on one machine nobody records it, and it costs a fifth
        *ssh_options(state),
        f"root@{node.address}",
        *([shlex.join(command)] if command else []),
    ]


def inventory(state: Path, nodes: Sequence[Node]) -> str:
    """The inventory as JSON text, which is YAML too."""
    return (
        json.dumps(
            {
                GROUP: {
                    "hosts": {node.name: {"ansible_host": node.address} for node in nodes},
                    "vars": {
                        "ansible_user": "root",
                        "ansible_ssh_private_key_file": str(state / "id"),
                        "ansible_ssh_common_args": shlex.join(ssh_options(state)),
                        "ansible_python_interpreter": "/usr/bin/python3",
                    },
                }
            },
            indent=2,
        )
        + "\n"
    )


def write(state: Path, nodes: Sequence[Node]) -> None:
    """Write ``known_hosts`` and the inventory ``hosts`` for ``nodes``, which are all up; the inventory comes last."""
    (state / "known_hosts").write_text("".join(f"{node.address} {node.host_key}\n" for node in nodes))
    (state / "hosts").write_text(inventory(state, nodes))


def listed(state: Path) -> set[str]:
    """Names of the nodes in the inventory."""
    try:
        return set(json.loads((state / "hosts").read_text())[GROUP]["hosts"])
    except FileNotFoundError:
        return set()
