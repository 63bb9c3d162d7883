from __future__ import annotations

import os
import resource
from pathlib import Path

from node_trees import library, write

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.limits import limit_facts, path_facts


def test_limits_are_those_of_this_process(tmp_path: Path) -> None:
    write(tmp_path, {"/proc/sys/fs/nr_open": 1048576})
    facts = limit_facts(str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert facts["nofile"] == {"soft": soft, "hard": hard}
    assert (facts["uid"], facts["nr_open"]) == (os.geteuid(), 1048576)
    assert facts["shm"] == {"total_bytes": None, "free_bytes": None}


def test_a_folder_tells_its_room_and_whether_it_is_empty(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    facts = path_facts(str(tmp_path), "/cache")
    room = os.statvfs(tmp_path)
    assert (facts["kind"], facts["nearest"], facts["empty"]) == ("directory", "/cache", True)
    assert facts["total_bytes"] == room.f_blocks * room.f_frsize
    (tmp_path / "cache" / "index").touch()
    assert path_facts(str(tmp_path), "/cache")["empty"] is False


def test_where_nothing_is_the_nearest_folder_above_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    facts = path_facts(str(tmp_path), "/home/ops/cache")
    assert (facts["kind"], facts["nearest"]) == ("missing", "/home")
    assert facts["free_bytes"] > 0
    assert "empty" not in facts


def test_a_library_is_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(library("libx.so.1"))
    (tmp_path / "libx.so").symlink_to("real")
    facts = path_facts(str(tmp_path), "/libx.so")
    assert (facts["kind"], facts["library"]["soname"]) == ("file", "libx.so.1")


def test_the_file_system_is_that_of_the_longest_mount_point(tmp_path: Path) -> None:
    mounts = "/dev/sda / ext4 rw 0 0\nold:/h /home ext4 rw 0 0\nnas:/h /home nfs4 rw 0 0\nx /homestead xfs rw 0 0"
    write(tmp_path, {"/proc/self/mounts": mounts})
    for path in ("home/ops", "homestead", "srv"):
        (tmp_path / path).mkdir(parents=True)
    found = [path_facts(str(tmp_path), path)["file_system"] for path in ("/home/ops", "/homestead", "/srv", "/home")]
    assert found == ["nfs4", "xfs", "ext4", "nfs4"]
