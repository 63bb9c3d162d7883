from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.rdma_library import (
    FUNCTION,
    abi_warnings,
    library_lines,
    mount_problems,
)

WARNING = (
    "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to 1) for device "
    "/sys/class/infiniband/bnxt_re0"
)


def mount(source: Path | str, target: str) -> dict[str, str]:
    return {"source": str(source), "target": target}


def test_mounts_of_files_folders_and_the_runs_own_are_right(tmp_path: Path) -> None:
    library, folder = tmp_path / "libbnxt_re-rdmav34.so", tmp_path / "home"
    library.touch()
    folder.mkdir()
    link = tmp_path / "link.so"
    link.symlink_to(library)
    mounts = [
        mount(library, "/lib/libbnxt_re-rdmav34.so.host"),
        mount(link, "/lib/link.so"),
        mount(folder, "/home"),
        mount("/dev/null", "/dev/null"),
        {**mount(tmp_path / "run", "/run7"), "staged": True},
    ]
    assert mount_problems(mounts) == []


def test_each_wrong_source_is_named_with_what_fixes_it(tmp_path: Path) -> None:
    made_by_docker = tmp_path / "libbnxt_re-rdmav34.so"
    made_by_docker.mkdir()
    missing = tmp_path / "libionic-rdmav34.so"
    target = "/usr/lib/libibverbs/lib.so.host"
    mounts = [
        mount(made_by_docker, target),
        mount(missing, target),
        mount(tmp_path / "a b", "/data"),
        mount("/dev/infiniband-not-there", "/dev/infiniband"),
        mount("/dev/null", target),
    ]
    assert [(one["code"], one["values"]["source"], one["values"]["command"]) for one in mount_problems(mounts)] == [
        ("mount_wrong", str(made_by_docker), f"rmdir {made_by_docker}"),
        (
            "mount_wrong",
            str(missing),
            "put the driver vendor's library there; to find it: find / -xdev -name libionic-rdmav34.so",
        ),
        (
            "mount_wrong",
            f"{tmp_path}/a b",
            f"mount what belongs at '{tmp_path}/a b', or remove it from volume_dict in the config",
        ),
        ("mount_wrong", "/dev/infiniband-not-there", "modprobe -a ib_uverbs rdma_ucm"),
        ("mount_wrong", "/dev/null", "put the library there; to check: ls -l /dev/null"),
    ]


def test_without_a_library_of_the_node_there_is_nothing_to_do() -> None:
    assert library_lines([mount("/home", "/home"), mount("/x/libx.so", "/lib/libx.so")], 8) == []


@pytest.fixture
def in_container(tmp_path: Path):
    """Run the lines as in a container, with a python3 that prints libibverbs' messages."""
    library = tmp_path / "libs" / "libbnxt_re-rdmav34.so"
    library.parent.mkdir()
    library.write_text("the image's")
    Path(f"{library}.host").write_text("the node's")

    def run(devices: int, told: str) -> tuple[int, str, str]:
        python = tmp_path / "python3"
        python.write_text(f"#!/bin/sh\n{told}\n")
        python.chmod(0o755)
        lines = library_lines([mount("/usr/local/lib/x.so", f"{library}.host")], devices)
        script = "\n".join(["set -o pipefail", *lines, f"{FUNCTION} && echo training"])
        done = subprocess.run(
            ["bash", "-c", script],
            env={"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        return done.returncode, done.stdout, library.read_text()

    return run


def test_the_library_of_the_node_takes_its_place_and_the_training_begins(in_container) -> None:
    assert in_container(8, "echo 8") == (0, "training\n", "the node's")


def test_fewer_devices_than_on_the_node_keep_the_training_from_beginning(in_container) -> None:
    status, output, _ = in_container(8, "echo 7")
    assert (status, output) == (1, "7\nRDMA devices: 8 on the node, 7 in the container\n")


def test_a_warning_of_the_abi_is_shown_and_keeps_the_training_from_beginning(in_container) -> None:
    status, output, _ = in_container(1, f"echo '{WARNING}' >&2; echo 1")
    assert status == 1
    assert WARNING in output


def test_an_image_without_libibverbs_says_so(in_container) -> None:
    status, output, _ = in_container(8, "echo 'OSError: libibverbs.so.1: cannot open' >&2; exit 1")
    assert status == 1
    assert "OSError: libibverbs.so.1: cannot open" in output


def test_a_library_that_is_not_mounted_keeps_the_training_from_beginning(tmp_path: Path) -> None:
    lines = library_lines([mount("/x", f"{tmp_path}/libx.so.host")], 1)
    script = "\n".join([*lines, f"{FUNCTION} && echo training"])
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "libx.so.host" in done.stderr


def test_warnings_of_the_abi_are_told_once_each() -> None:
    assert abi_warnings(f"{WARNING}\nother\n{WARNING}\n") == [WARNING]
