# SPDX-License-Identifier: GPL-3.0-or-later
"""cluster.py on a machine that cannot run it: exit status 77 and a clear word, before anything is changed."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import typing as t
from pathlib import Path

import _cgroups
import _cluster
import _host
import pytest
from _run import CannotRunHereError
from not_run import need

AS_ROOT = "run `sudo make test-cluster`"
CLUSTER = Path(__file__).with_name("cluster.py")


def command(
    tmp_path: Path, *arguments: str, wrapper: t.Sequence[str] = (), path: str | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": path or os.environ["PATH"]}
    argv = [*wrapper, sys.executable, str(CLUSTER), *arguments, "--state", str(tmp_path / "state")]
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)


def need_namespaces() -> None:
    need(*_host.TO_RUN, *_host.TO_BUILD)
    try:
        _host.require_namespaces()
        _cgroups.hierarchies()
    except CannotRunHereError as error:
        pytest.skip(str(error))


def assert_nothing_was_made(tmp_path: Path) -> None:
    assert list(tmp_path.iterdir()) == []


def test_who_is_not_root_is_told_so(tmp_path: Path) -> None:
    wrapper = ["unshare", "--user", "--map-user=1000"] if os.geteuid() == 0 else []
    if subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine makes no user namespace for root, as in a chroot")

    done = command(tmp_path, "up", wrapper=wrapper)

    assert (done.returncode, done.stdout) == (77, "")
    assert "cannot run here: only root can make nodes" in done.stderr
    assert_nothing_was_made(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason=f"only root can give up what root may do; {AS_ROOT}")
@pytest.mark.parametrize(
    ("without", "refused"),
    [
        ("sys_admin", "own namespaces"),
        ("mknod", "making device files"),
        ("net_admin", "network bridges"),
    ],
)
def test_a_root_that_may_not_do_what_nodes_need_is_told_so(tmp_path: Path, without: str, refused: str) -> None:
    need_namespaces()
    wrapper = ["setpriv", f"--bounding-set=-{without}"]

    done = command(tmp_path, "up", wrapper=wrapper)

    assert (done.returncode, done.stdout) == (77, "")
    assert f"cannot run here: this machine does not allow {refused}: " in done.stderr
    assert_nothing_was_made(tmp_path)


def test_who_waits_for_another_command_says_so_beside_the_answer(tmp_path: Path) -> None:
    its_turn = "import pathlib, sys, _cluster\nwith _cluster.alone(pathlib.Path(sys.argv[1])): print('its turn')"
    argv = [sys.executable, "-c", its_turn, str(tmp_path)]
    with _cluster.alone(tmp_path):
        waiting = subprocess.Popen(argv, cwd=CLUSTER.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        select.select([waiting.stdout, waiting.stderr], [], [], 60)
    answer, said = waiting.communicate()
    assert (said, answer) == ("waiting for another command of the cluster\n", "its turn\n")


@pytest.mark.skipif(os.geteuid() != 0, reason=f"who is not root is told that first; {AS_ROOT}")
def test_a_folder_that_cannot_be_named_in_a_mount_is_refused(tmp_path: Path) -> None:
    need_namespaces()
    (tmp_path / "a:b").mkdir()

    done = command(tmp_path / "a:b", "up")

    assert (done.returncode, done.stdout) == (1, "")
    assert 'a:b/state has one of , : " \\ in its name' in done.stderr
    assert_nothing_was_made(tmp_path / "a:b")


@pytest.mark.skipif(os.geteuid() != 0, reason=f"who is not root is told that first; {AS_ROOT}")
def test_a_missing_package_is_named(tmp_path: Path) -> None:
    done = command(tmp_path, "up", path=str(tmp_path))

    assert (done.returncode, done.stdout) == (77, "")
    assert "missing Debian packages: iproute2 mmdebstrap mount openssh-client util-linux; run `apt-get" in done.stderr
    assert_nothing_was_made(tmp_path)


@pytest.mark.parametrize("nodes", ["0", "201", "-1", "some"])
def test_a_count_that_makes_no_sense_is_refused(tmp_path: Path, nodes: str) -> None:
    done = command(tmp_path, "up", f"--nodes={nodes}")

    assert done.returncode == 2
    assert f"{nodes!r} is not a number of nodes from 1 to 200" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason=f"who is not root is told that first; {AS_ROOT}")
@pytest.mark.parametrize("name", ["up", "down"])
def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path, name: str) -> None:
    need_namespaces()
    (tmp_path / "state/nodes").mkdir(parents=True)

    done = command(tmp_path, name)

    assert (done.returncode, done.stdout) == (1, "")
    assert f"{tmp_path}/state is not empty and not the folder of a cluster" in done.stderr
    assert list((tmp_path / "state").iterdir()) == [tmp_path / "state/nodes"]


def test_a_file_is_there_if_it_exists_and_a_program_if_it_is_in_path(tmp_path: Path) -> None:
    (tmp_path / "keyring.gpg").touch()

    assert _host.is_there(str(tmp_path / "keyring.gpg"))
    assert not _host.is_there(str(tmp_path / "missing.gpg"))
    assert _host.is_there("sh")
    assert not _host.is_there("no-such-program-here")


def test_no_node_is_up_where_none_was_started(tmp_path: Path) -> None:
    need("ip")
    done = command(tmp_path, "status")

    assert (done.returncode, done.stdout) == (1, "no node is up\n")


def test_a_package_is_missing_if_one_of_its_programs_is() -> None:
    programs = {"ip": "iproute2", "mount": "mount", "ssh": "openssh-client", "ssh-keygen": "openssh-client"}

    assert _host.missing_packages(programs, {"ip", "ssh"}.__contains__) == [
        "mount",
        "openssh-client",
    ]


@pytest.mark.parametrize(("mask", "expected"), [("000001ffffffffff", True), ("000001fffeffffff", False)])
def test_limits_may_be_raised_with_cap_sys_resource(mask: str, expected: bool) -> None:
    assert _host.may_raise_limits(f"Name:\tcat\nCapBnd:\t{mask}\n") is expected
