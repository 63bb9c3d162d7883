"""What to do about a node that cannot be reached, or on which a run could not begin, by what was said."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.unreachable import told_by_a_command, why_unreachable
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.not_ready import remedy_of

AROUND = 'Data could not be sent to remote host "10.0.0.7". Make sure this host can be reached over ssh: '


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("ssh: Could not resolve hostname gpu9: Name or service not known", "ansible_host"),
        ("ops@10.0.0.7: Permission denied (publickey,password).", "ssh-copy-id"),
        ("Host key verification failed.", "ssh-keyscan"),
        ("@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@ Host key verification failed.", "ssh-keygen -R"),
        ("ssh: connect to host 10.0.0.7 port 22: Connection refused", "sshd"),
        ("ssh: connect to host 10.0.0.7 port 22: No route to host", "BMC"),
        ("ssh: connect to host 10.0.0.7 port 22: Connection timed out", "firewall"),
        ("kex_exchange_identification: read: Connection reset by peer", "MaxStartups"),
        ("something that nobody knows", "management network"),
    ],
)
@pytest.mark.parametrize("around", [AROUND, "Task failed: Failed to connect to the host via ssh: ", ""])
def test_each_cause_of_ssh_has_its_own_remedy(said: str, remedy: str, around: str) -> None:
    reason, found = why_unreachable(around + said)
    assert remedy in found
    assert said.rstrip(".") in reason
    assert "Make sure" not in reason


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("rendezvous port 6000 is not free here (Address already in use)", "ss -ltnp 'sport = :6000'"),
        ("the node is held by run a; wait for it to end, or stop it: ansible-playbook …", "Wait for that run"),
        ("/no/python did not run the program of phase stage (exit status 127)", "ansible_python_interpreter"),
        ("no container engine is installed here (looked for docker, podman)", "container_engine=none"),
        (
            "every user can write to /x and could replace a run's files; run: chmod +t /x, or choose another log_dir",
            "owner",
        ),
        ("no training of run x was started here, so there is none to follow or to judge", "training_run_id"),
        ("/logs need 1.0 GiB but have 0.0 GiB free; free up space there (du -xh /)", "log_dir"),
        ("the folder /opt/megatron does not exist; it has to be the trainer's checkout", "Put it there"),
        ("something else", "preflight.yml"),
    ],
)
def test_each_cause_of_a_node_that_is_not_ready_has_its_own_remedy(said: str, remedy: str) -> None:
    assert remedy in remedy_of(said)


def test_what_ssh_adds_is_not_why_a_command_failed() -> None:
    socket = "ControlSocket /root/.ansible/cp/8daa already exists, disabling multiplexing"
    assert told_by_a_command(f"{socket}\n/bin/sh: 1: /no/python3: not found\n") == [
        "/bin/sh: 1: /no/python3: not found"
    ]
    assert told_by_a_command(socket) == [socket]
