# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import _cgroups
import pytest
from _run import CannotRunHereError

if t.TYPE_CHECKING:
    from pathlib import Path

CONTROLLERS = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t2\t1\ncpuacct\t1\t2\t1\nmemory\t4\t2\t1\n"


def test_a_unified_machine_has_one_hierarchy() -> None:
    trees = _cgroups.hierarchies("cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate,memory_recursiveprot 0 0\n", CONTROLLERS)

    assert [(str(folder), file_system) for folder, file_system, _ in trees] == [("/sys/fs/cgroup", "cgroup2")]


def test_a_hybrid_machine_has_its_version_1_hierarchies_and_the_one_of_systemd_first() -> None:
    mounts = (
        "tmpfs /sys/fs/cgroup tmpfs ro,mode=755 0 0\n"
        "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n"
        "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,relatime,cpu,cpuacct 0 0\n"
        "cgroup /sys/fs/cgroup/systemd cgroup rw,xattr,release_agent=/lib/systemd/agent,name=systemd 0 0\n"
        "cgroup /other/place cgroup rw,memory 0 0\n"
    )

    trees = _cgroups.hierarchies(mounts, CONTROLLERS)

    assert [(tree.folder.name, tree.options) for tree in trees] == [
        ("systemd", "name=systemd"),
        ("cpu,cpuacct", "cpu,cpuacct"),
    ]


@pytest.mark.parametrize("mounts", ["", "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"])
def test_a_machine_without_groups_for_systemd_is_told_so(mounts: str) -> None:
    with pytest.raises(CannotRunHereError, match="name=systemd"):
        _cgroups.hierarchies(mounts, CONTROLLERS)


def test_a_process_outside_our_process_namespace_is_nobody_to_kill(tmp_path: Path) -> None:
    """The kernel lists it as 0, which kill(2) takes for the caller's own process group."""
    tree = _cgroups.Hierarchy(tmp_path, "cgroup2", "")
    group = _cgroups.supervisor(tree, "trainops-x", "node1")
    group.mkdir(parents=True)
    (group / "cgroup.procs").write_text("0\n")

    assert not _cgroups.is_running(tree, "trainops-x", "node1")
    assert _cgroups._kill([group]) == []
