# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of ssh and sudo become a code in one place each."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.become import become_problem
from ansible_collections.trainops.cluster.plugins.plugin_utils.unreachable import told_by_a_command, unreachable

AROUND = 'Data could not be sent to remote host "10.0.0.7". Make sure this host can be reached over ssh: '


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("ssh: Could not resolve hostname gpu9: Name or service not known", "unknown_host"),
        ("ops@10.0.0.7: Permission denied (publickey,password).", "login_refused"),
        ("Host key verification failed.", "host_key_unknown"),
        ("@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@ Host key verification failed.", "host_key_changed"),
        ("ssh: connect to host 10.0.0.7 port 22: Connection refused", "connection_refused"),
        ("ssh: connect to host 10.0.0.7 port 22: No route to host", "no_route"),
        ("ssh: connect to host 10.0.0.7 port 22: Connection timed out", "timeout"),
        ("kex_exchange_identification: read: Connection reset by peer", "connection_ended"),
        ("something that nobody knows", "no_answer"),
    ],
)
@pytest.mark.parametrize("around", [AROUND, "Task failed: Failed to connect to the host via ssh: ", ""])
def test_what_ssh_says_has_a_code(said: str, code: str, around: str) -> None:
    assert unreachable(around + said) == {"code": code, "values": {"said": said.rstrip(".")}}


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("/bin/sh: 1: sudo: not found", "become_program_missing"),
        ("sudo: 1 incorrect password attempt", "become_password_wrong"),
        ("sudo: a password is required", "become_password_missing"),
        ("sudo: unknown user nobody2", "become_user_missing"),
        ("su: user nobody2 does not exist or the user entry lacks fields", "become_user_missing"),
        ("Failed to change ownership of the temporary files Ansible needs to create", "become_user_missing"),
        ("ops is not in the sudoers file.", "become_forbidden"),
        ("Timeout (12s) waiting for privilege escalation prompt", "become_failed"),
    ],
)
def test_what_sudo_says_has_a_code(said: str, code: str) -> None:
    found = become_problem(said)
    assert found is not None
    assert found["code"] == code


def test_what_does_not_mention_sudo_is_no_problem_of_it() -> None:
    assert become_problem("Permission denied") is None


def test_what_ssh_adds_is_not_why_a_command_failed() -> None:
    socket = "ControlSocket /root/.ansible/cp/8daa already exists, disabling multiplexing"
    assert told_by_a_command(f"{socket}\n/bin/sh: 1: /no/python3: not found\n") == [
        "/bin/sh: 1: /no/python3: not found"
    ]
    assert told_by_a_command(socket) == [socket]
