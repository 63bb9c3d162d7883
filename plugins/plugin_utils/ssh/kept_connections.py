# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of ansible.builtin.ssh over the connections that OpenSSH keeps, without an ssh process for each.

Ansible starts ssh for each command: 9 ms of CPU time, and 1 MB while the command runs, which is nearly always for a
node that is followed. Special cases stay with Ansible: the command that makes the connection, a password, agent or
display forwarding, a ControlPath set by the user, another program than ssh.
"""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
import threading
import typing as t

from ansible.errors import AnsibleConnectionFailure
from ansible.utils.display import Display

from . import session

# A node that is cut off is noticed after 9 to 12 s. Options that the user sets come first in the command, and win.
_KEEP_ALIVE = (b"-o", b"ServerAliveInterval=3", b"-o", b"ServerAliveCountMax=3")
# Options that differ between nodes without changing the data sent to them.
_OF_A_NODE = re.compile(rb"(ControlPath|Port|User)=")


class KeptConnections:
    """Lets a task's connections use the ones that OpenSSH keeps, and closes these once nothing needs them."""

    def __init__(self) -> None:
        self._paths: dict[t.Any, str] = {}
        self._variables: dict[tuple[bytes, ...], list[bytes] | None] = {}
        self._lock = threading.Lock()

    def use_for(self, connection: t.Any) -> None:
        """Let a connection hand over each command itself if ssh would do exactly the same."""
        if connection.transport != "ssh":
            return
        start_ssh = connection._bare_run

        def bare_run(command: list[bytes], in_data: bytes | None, **options: t.Any) -> tuple[int, bytes, bytes]:
            path = _control_path(command)
            if path:
                self._paths[connection] = path
            variables = self._sent(command) if path and in_data and not _may_ask(connection.become) else None
            if path and variables is not None:
                try:
                    Display().vvv(f"SSH: over the connection kept at {path}", host=connection.host)
                    return session.run(path, command[-1], in_data or b"", variables)
                except session.NoConnectionError:
                    pass
                except session.ConnectionLostError:
                    raise AnsibleConnectionFailure(f"The SSH connection to {connection.host} was lost.") from None
            result: tuple[int, bytes, bytes] = start_ssh(_kept_alive(command), in_data, **options)
            return result

        connection._bare_run = bare_run

    def let_go(self, connection: t.Any) -> None:
        """Close OpenSSH's kept connection, which takes 1.4 MB here, as soon as nothing uses it."""
        if connection in self._paths:
            session.let_go(self._paths.pop(connection))

    def _sent(self, command: list[bytes]) -> list[bytes] | None:
        """Return `_sent_variables` of a command, which is looked up once for all nodes with the same options."""
        options = tuple(argument for argument in command[:-2] if not _OF_A_NODE.match(argument))
        with self._lock:
            if options not in self._variables:
                self._variables[options] = _sent_variables(command)
            return self._variables[options]


def _kept_alive(command: list[bytes]) -> list[bytes]:
    """Return a command of Ansible whose ssh notices that the node is cut off; its last two words are host and command.

    Of an option that ssh is given twice, the first counts.
    """
    # It may be behind sshpass and its options.
    if b"ssh" not in map(os.path.basename, command[:4]):
        return command
    return [*command[:-2], *_KEEP_ALIVE, *command[-2:]]


def _may_ask(become: t.Any) -> bool:
    """Return whether becoming another user may prompt for something, which only Ansible can answer."""
    return become is not None and (become.name != "sudo" or become.expect_prompt())


def _control_path(command: list[bytes]) -> str | None:
    """Return the socket of the kept connection in a command of Ansible; None if the command has none."""
    if os.path.basename(command[0]) != b"ssh":
        return None
    named = (re.fullmatch(rb'ControlPath="([^"%]+)"', argument) for argument in command)
    return next((os.fsdecode(path[1]) for path in named if path), None)


def _sent_variables(command: list[bytes]) -> list[bytes] | None:
    """Return the variables that an ssh command sends, in the form ``NAME=value``; None if it forwards anything else."""
    asked = [command[0], b"-G", *command[1:-1]]
    done = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    options = [line.split(b" ", 1) for line in done.stdout.splitlines()]
    if not all([name, b"no"] in options for name in (b"forwardagent", b"forwardx11")):
        return None
    patterns = [value for name, value in options if name == b"sendenv"]
    return [
        name + b"=" + value
        for name, value in os.environb.items()
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    ]
