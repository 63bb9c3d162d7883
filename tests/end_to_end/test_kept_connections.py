"""A node is asked over the connection that ssh keeps to it, and no process of ssh is started to ask it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible.playbook.play_context import PlayContext
from ansible.plugins.loader import connection_loader
from playbook_bench import free_port
from sshd_here import Nodes, needs_sshd

from ansible_collections.trainops.cluster.plugins.plugin_utils import bounded_output
from ansible_collections.trainops.cluster.plugins.plugin_utils.ssh import session
from ansible_collections.trainops.cluster.plugins.plugin_utils.ssh.kept_connections import KeptConnections

pytestmark = needs_sshd


@dataclass
class Kept:
    """A connection that ssh keeps to a server of this machine."""

    nodes: Nodes
    path: str

    def begin(self) -> None:
        self._ssh("-fNM", "-oControlPersist=600s")

    def client(self, command: str, given: bytes = b"") -> tuple[int, bytes, bytes]:
        """Return the output of an ssh client."""
        done = subprocess.run(self.arguments(command), input=given, capture_output=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def end(self) -> None:
        subprocess.run(self.arguments("", "-Oexit"), capture_output=True, check=False)

    def keeper(self) -> int:
        """Return the process that keeps it."""
        said = subprocess.run(self.arguments("", "-Ocheck"), capture_output=True, check=True, text=True).stderr
        return int(said.partition("pid=")[2].partition(")")[0])

    def arguments(self, command: str, *options: str) -> list[str]:
        known = f"-oUserKnownHostsFile={self.nodes.known_hosts}"
        own = ["-F", "none", "-i", str(self.nodes.key), "-p", str(self.nodes.port), known, "-S", self.path]
        return ["ssh", *own, *options, self.nodes.addresses[0], *([command] if command else [])]

    def _ssh(self, *options: str) -> None:
        subprocess.run(self.arguments("", *options), check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    folder = tmp_path_factory.mktemp("kept")
    with Nodes(folder / "sshd", 1, free_port()) as nodes:
        connection = Kept(nodes, str(folder / "cp"))
        connection.begin()
        yield connection
        connection.end()


def run(kept: Kept, command: str, given: bytes = b"", variables: t.Sequence[bytes] = ()) -> session.Result:
    return session.run(kept.path, command.encode(), given, variables)


@pytest.mark.parametrize(
    ("command", "given"),
    [
        pytest.param("echo out; echo err >&2; exit 7", b"", id="both outputs and the exit status"),
        pytest.param("cat; cat >&2", os.urandom(3_000_000), id="3 MB in and out"),
        pytest.param("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2", b"", id="3 MB of each output"),
        pytest.param("exit 3", b"x" * 3_000_000, id="standard input that nobody reads"),
        pytest.param("exec >&- 2>&-; cat >/dev/null", b"x" * 300_000, id="outputs closed before the end"),
        pytest.param("sh -c 'sleep 0.2; echo late' & echo soon", b"", id="a process that outlives the command"),
        pytest.param("printf 'no line end'; printf '\\377\\000'", b"", id="bytes that are no text"),
        pytest.param('echo "$0"; no_such_program_of_any_node', b"", id="what the shell itself says"),
    ],
)
def test_a_command_gives_what_a_client_of_ssh_gives(kept, command, given):
    assert run(kept, command, given) == kept.client(command, given)


def test_many_commands_run_at_once(kept):
    results: dict[int, bytes] = {}

    def ask(number: int) -> None:
        results[number] = run(kept, "sleep 0.3; cat", str(number).encode()).stdout

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: str(number).encode() for number in range(8)}


def test_no_file_stays_open(kept):
    run(kept, "true")
    before = os.listdir("/proc/self/fd")
    for _number in range(5):
        run(kept, "cat", b"x" * 100_000)
        with contextlib.suppress(session.NoConnectionError):
            session.run(f"{kept.path}.none", b"true", b"", ())
    assert os.listdir("/proc/self/fd") == before


def test_without_a_connection_nothing_is_run(tmp_path):
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "left"))
    for name in ("left", "none", "long" * 40):
        with pytest.raises(session.NoConnectionError):
            session.run(str(tmp_path / name), b"true", b"", ())


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\0\0", id="half a length"),
        pytest.param(b"\0\0\0\x08\0\0\0\x01\0\0\0\x03", id="another version"),
        pytest.param(b"\xff" * 100, id="4 GB"),
        pytest.param(b"SSH-2.0-OpenSSH_9.2\r\n", id="another protocol"),
    ],
)
def test_what_answers_otherwise_than_ssh_is_given_no_command(tmp_path, answer):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "cp"))
        listener.listen()
        heard: list[bytes] = []

        def answer_once() -> None:
            client, _ = listener.accept()
            with client:
                heard.append(client.recv(12, socket.MSG_WAITALL))
                client.sendall(answer)
                client.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionResetError):
                    heard.append(client.recv(1000))

        keeper = threading.Thread(target=answer_once)
        keeper.start()
        with pytest.raises(session.NoConnectionError):
            session.run(str(tmp_path / "cp"), b"secret", b"", ())
        keeper.join()
    assert b"secret" not in b"".join(heard)


def test_a_connection_that_takes_no_further_command_has_run_nothing(kept):
    clients = [
        subprocess.Popen(kept.arguments("cat"), stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _number in range(10)
    ]
    for client in clients:
        client.stdin.write(b"begun\n")
        client.stdin.flush()
        assert client.stdout.readline() == b"begun\n"
    with pytest.raises(session.NoConnectionError):
        run(kept, "true")
    for client in clients:
        client.communicate()
    assert run(kept, "true").status == 0


def test_a_connection_that_ends_before_its_command_is_lost(kept):
    ended = threading.Timer(0.5, lambda: os.kill(kept.keeper(), signal.SIGKILL))
    ended.start()
    with pytest.raises(session.ConnectionLostError):
        run(kept, "sleep 60")
    ended.join()
    os.unlink(kept.path)
    kept.begin()


def test_a_connection_that_is_let_go_ends_with_the_last_command_that_runs_over_it(tmp_path_factory, kept):
    other = Kept(kept.nodes, str(tmp_path_factory.mktemp("go") / "cp"))
    other.begin()
    keeper = other.keeper()
    with subprocess.Popen(other.arguments("cat"), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        client.stdin.write(b"begun\n")
        client.stdin.flush()
        assert client.stdout.readline() == b"begun\n"
        session.let_go(other.path)
        with pytest.raises(session.NoConnectionError):
            run(other, "true")
        assert client.communicate(b"ended\n")[0] == b"ended\n"
    wait_until(lambda: not Path(f"/proc/{keeper}").exists())
    session.let_go(other.path)


@pytest.fixture
def ssh(kept) -> Iterator[Ssh]:
    """Connections of Ansible whose starts of ssh are counted, in a folder whose sockets have short names."""
    with TemporaryDirectory() as folder:
        yield Ssh(kept, Path(folder))


class Ssh:
    def __init__(self, kept: Kept, folder: Path) -> None:
        self.kept, self.folder, self.log = kept, folder, folder / "log"
        self.program = folder / "ssh"
        self.program.write_text(f'#!/bin/sh\necho "$@" >>{self.log}\nexec ssh "$@"\n')
        self.program.chmod(0o755)
        self.known = KeptConnections()

    def connection(self, options: str = "", **direct: str) -> t.Any:
        """Return a connection to the server; its socket is in a folder of this test."""
        made = connection_loader.get("ssh", PlayContext())
        nodes = self.kept.nodes
        own = {
            "host": nodes.addresses[0],
            "port": nodes.port,
            "private_key_file": str(nodes.key),
            "ssh_executable": str(self.program),
            "ssh_args": "-F none -o ControlMaster=auto -o ControlPersist=10s",
            "ssh_common_args": f"-o UserKnownHostsFile={nodes.known_hosts} {options}",
            "control_path_dir": str(self.folder / "cp"),
        }
        made.set_options(direct={**own, **direct})
        bounded_output.bind(made)
        self.known.use_for(made)
        return made

    def started(self) -> int:
        """Return how often ssh was started but to be asked for its options."""
        return sum(" -G " not in f" {line}" for line in self.log.read_text().splitlines())


def test_ssh_is_started_once_for_a_node(ssh):
    connection = ssh.connection()
    for _number in range(3):
        assert connection.exec_command("cat; echo $LC_MARK", in_data=b"given ") == (0, b"given \n", b"")
    assert ssh.started() == 1
    assert ssh.log.read_text().count("-G") == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param("", b"", id="nothing"),
        pytest.param("-o SendEnv=LC_M*", b"of the controller", id="SendEnv"),
        pytest.param("""-o 'SetEnv=LC_MARK="of the options"'""", b"of the options", id="SetEnv"),
    ],
)
def test_the_variables_that_ssh_sends_are_sent_every_time(ssh, monkeypatch, options, expected):
    monkeypatch.setenv("LC_MARK", "of the controller")
    connection = ssh.connection(options)
    for _number in range(2):
        assert connection.exec_command("cat; echo $LC_MARK", in_data=b" ")[1].strip() == expected
    assert ssh.started() == 1


@pytest.mark.parametrize(
    ("options", "direct"),
    [
        pytest.param("-o ForwardAgent=yes", {}, id="an agent is forwarded"),
        pytest.param("-o ForwardX11=yes", {}, id="a display is forwarded"),
        pytest.param("-o ControlPath={folder}/%C", {}, id="a path of the user's own"),
        pytest.param("", {"ssh_args": "-F none -o ControlMaster=no"}, id="no connection is kept"),
    ],
)
def test_what_is_not_plain_is_left_to_ansible(ssh, options, direct):
    connection = ssh.connection(options.format(folder=ssh.folder), **direct)
    for _number in range(2):
        assert connection.exec_command("cat", in_data=b"given")[1] == b"given"
    assert ssh.started() == 2


@pytest.mark.parametrize("output", ["", ">&2"], ids=["output", "errors"])
@pytest.mark.parametrize(
    "options",
    [
        pytest.param("", id="a kept connection"),
        pytest.param("-o ControlPath={folder}/%C", id="a path of the user's own", marks=pytest.mark.slow),
    ],
)
def test_what_prints_without_an_end_is_ended_at_the_bound(ssh, options, output):
    connection = ssh.connection(options.format(folder=ssh.folder))
    assert connection.exec_command("cat", in_data=b"given")[1] == b"given"
    for command in (f"cat >/dev/null; exec yes {output}", f"exec yes {output}"):
        with pytest.raises(bounded_output.TooLongError, match=r"its answer is longer than \d+ bytes"):
            connection.exec_command(command, in_data=b"given")
    assert connection.exec_command("cat", in_data=b"again")[1] == b"again"
    most = bounded_output.MOST_OF_ERRORS // 2
    given = connection.exec_command(f"cat >/dev/null; head -c {most} /dev/zero {output}", in_data=b"given")
    assert sum(map(len, given[1:])) == most


def test_a_connection_that_was_lost_is_made_again(ssh):
    connection = ssh.connection(ssh_args="-F none -o ControlMaster=auto -o ControlPersist=1s")
    connection.exec_command("cat", in_data=b"given")
    wait_until(lambda: not list((ssh.folder / "cp").iterdir()))
    assert connection.exec_command("cat", in_data=b"again")[1] == b"again"
    assert ssh.started() == 2


def test_what_is_kept_for_a_node_is_let_go_once_it_is_not_needed(ssh):
    connection = ssh.connection()
    connection.exec_command("cat", in_data=b"given")
    ssh.known.let_go(connection)
    wait_until(lambda: not list((ssh.folder / "cp").iterdir()))
    assert connection.exec_command("cat", in_data=b"again")[1] == b"again"


def test_a_node_that_is_lost_while_it_is_asked_is_unreachable(ssh):
    connection = ssh.connection()
    connection.exec_command("cat", in_data=b"given")
    (path,) = (ssh.folder / "cp").iterdir()
    keeper = Kept(ssh.kept.nodes, str(path)).keeper()
    threading.Timer(0.5, os.kill, (keeper, signal.SIGKILL)).start()
    with pytest.raises(AnsibleConnectionFailure, match=r"The SSH connection to 127\.77\.1\.1 was lost"):
        connection.exec_command("sleep 60", in_data=b"given")


@pytest.mark.slow
def test_a_node_that_is_cut_off_is_noticed_by_the_connection(ssh):
    connection = ssh.connection()
    # The shell is a child of the server's process for this connection, which stops soon after the first command.
    stops = "(sleep 1; kill -STOP $PPID) >/dev/null 2>&1 &"
    assert connection.exec_command(f"cat; {stops}", in_data=b"given")[1] == b"given"
    with pytest.raises(AnsibleConnectionFailure):
        connection.exec_command("sleep 3; cat", in_data=b"given")


def test_an_interval_of_the_user_s_own_comes_first(ssh):
    ssh.connection("-o ServerAliveInterval=7").exec_command("cat", in_data=b"given")
    line = ssh.log.read_text().splitlines()[-1]
    intervals = [word for word in line.split() if word.startswith("ServerAliveInterval=")]
    assert intervals == ["ServerAliveInterval=7", "ServerAliveInterval=3"]
    assert ssh.connection("-o ServerAliveInterval=7").exec_command("cat", in_data=b"given")[1] == b"given"


def wait_until(holds: t.Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
