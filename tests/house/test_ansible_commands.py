"""The processes that fork commands of Ansible for tests."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import tempfile

import ansible_commands
import pytest


def local(*words: str) -> list[str]:
    return ["ansible", "localhost", *words]


def test_a_command_that_takes_too_long_is_killed() -> None:
    done = ansible_commands.finished(local("-m", "command", "-a", "sleep 3"), os.environ, packages=(), seconds=0.5)
    assert done.returncode == -9


def test_a_command_that_no_test_waits_for_does_no_harm_to_others() -> None:
    playing = ansible_commands.started(local("-m", "command", "-a", "sleep 0.5"), os.environ, packages=())
    assert playing.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        playing.communicate(0.01)
    ended = os.pidfd_open(playing.pid)
    del playing
    select.select([ended], [], [], 60)
    os.close(ended)
    assert ansible_commands.finished(local("-m", "ping"), os.environ, packages=()).returncode == 0


def test_a_command_that_ends_at_once_has_ended() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        # Both answers arrive, although another command has the connection open as well.
        theirs.sendall(b"12\n3\n")
        playing = ansible_commands.Playing([], ours, [], apart=False)
        assert (playing.pid, playing.wait(1)) == (12, 3)


@pytest.mark.slow
def test_what_a_shell_calls_ends_with_its_command_though_the_server_lives_on() -> None:
    program = [sys.executable, "-IS", ansible_commands.__file__]
    with tempfile.TemporaryDirectory() as servers, subprocess.Popen(["sleep", "100"]) as owner:
        environment = os.environ | {ansible_commands.SERVERS: servers, ansible_commands.OWNER: str(owner.pid)}
        try:
            done = subprocess.run(
                [*program, *local("-m", "ping")],
                env=environment,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        finally:
            owner.kill()
    assert (done.returncode, done.stdout[:9]) == (0, "localhost"), done.stdout + done.stderr


def test_a_command_says_what_it_says_to_a_user() -> None:
    done = ansible_commands.run(*local("-m", "no_such_module"))
    assert done.returncode == 2
    assert "no_such_module" in done.stdout
    assert "No inventory was parsed" in done.stderr
    with_errors = ansible_commands.finished(local("--no-such-option"), os.environ, packages=())
    assert (with_errors.returncode, "unrecognized arguments" in with_errors.stdout) == (2, True)


def test_a_server_that_cannot_start_says_why_to_each_who_asks() -> None:
    for _test in range(2):
        with pytest.raises(ChildProcessError, match="No module named 'no_such_package'"):
            ansible_commands.started(local("-m", "ping"), os.environ, packages=("no_such_package",))
