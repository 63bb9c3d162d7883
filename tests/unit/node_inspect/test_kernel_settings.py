from __future__ import annotations

import itertools
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from module_runs import call_module, run_module
from node_trees import write

from ansible_collections.trainops.cluster.plugins.module_utils.node.preparation import FILE as NOTES
from ansible_collections.trainops.cluster.plugins.modules.kernel_settings import (
    FILE,
    Result,
    Setting,
    ensure,
    take_back,
)

NUMA = {"kernel.numa_balancing": 0}
SOMAXCONN = "net.core.somaxconn"
HEADER = "# Written by the Ansible collection trainops.cluster.\n"
OURS = FILE.lstrip("/")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, {"/proc/sys/kernel/numa_balancing": 1, "/proc/sys/net/core/somaxconn": 128})
    return tmp_path


def files(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


def tried(
    root: Path,
    settings: dict[str, Any] | None = None,
    minimums: dict[str, Any] | None = None,
    *,
    optional: tuple[str, ...] = (),
    check_mode: bool = False,
) -> Result:
    return ensure(str(root), settings or {}, minimums or {}, list(optional), check_mode)


def done(root: Path, *options: dict[str, Any], **more: Any) -> dict[str, Any]:
    result, faults = tried(root, *options, **more)
    assert not faults
    return result


def refused(root: Path, *options: dict[str, Any], **more: Any) -> set[tuple[str, str]]:
    """Return code and name of each fault; nothing was changed."""
    before = files(root)
    result, faults = tried(root, *options, **more)
    assert (result, files(root)) == ({}, before)
    return {(fault.code, fault.name) for fault in faults}


def test_a_setting_is_made_true_once_and_kept(root: Path) -> None:
    first = done(root, NUMA)
    assert (first["changed"], first["before"]) == (True, {"kernel.numa_balancing": "1"})
    assert files(root) == {
        "proc/sys/kernel/numa_balancing": "0\n",
        "proc/sys/net/core/somaxconn": "128\n",
        OURS: f"{HEADER}kernel.numa_balancing = 0\n",
        NOTES.lstrip("/"): json.dumps({"kernel_settings": {"kernel/numa_balancing": "1"}}, indent=1) + "\n",
    }
    assert stat.S_IMODE((root / OURS).stat().st_mode) == 0o644
    assert done(root, NUMA) == {
        "changed": False,
        "before": {"kernel.numa_balancing": "0"},
        "overridden": {},
        "diff": [],
    }


def test_check_mode_tells_the_same_and_writes_nothing(root: Path) -> None:
    before = files(root)
    told = done(root, NUMA, check_mode=True)
    assert files(root) == before
    assert told == done(root, NUMA)
    assert [(change["before"], change["after"]) for change in told["diff"]] == [
        ("1\n", "0\n"),
        ("", f"{HEADER}kernel.numa_balancing = 0\n"),
    ]


def test_what_is_right_now_is_still_kept_over_a_reboot(root: Path) -> None:
    write(root, {"/proc/sys/kernel/numa_balancing": 0})
    assert [change["before_header"] for change in done(root, NUMA)["diff"]] == [FILE]


def test_settings_share_the_file_sorted_and_a_new_value_takes_the_place_of_the_old(root: Path) -> None:
    done(root, {}, {SOMAXCONN: 4096})
    done(root, {"kernel.numa_balancing": 1})
    done(root, NUMA)
    assert files(root)[OURS] == f"{HEADER}kernel.numa_balancing = 0\nnet.core.somaxconn = 4096\n"


def test_a_greater_value_is_neither_lowered_nor_written(root: Path) -> None:
    write(root, {"/proc/sys/net/core/somaxconn": 65535})
    assert done(root, {}, {SOMAXCONN: 4096})["diff"] == []
    assert OURS not in files(root)


@pytest.mark.parametrize("order", list(itertools.permutations((4096, 8192, 1024))))
def test_the_greatest_of_several_minimums_stays_in_any_order_and_run(root: Path, order: tuple[int, ...]) -> None:
    for value in (*order, *order):
        done(root, {}, {SOMAXCONN: value})
    assert files(root)["proc/sys/net/core/somaxconn"] == "8192\n"
    assert files(root)[OURS] == f"{HEADER}net.core.somaxconn = 8192\n"
    assert not done(root, {}, {SOMAXCONN: 1024})["changed"]


def test_a_minimum_does_not_lower_at_boot_what_an_earlier_file_sets(root: Path) -> None:
    write(root, {"/etc/sysctl.d/50-site.conf": "net.core.somaxconn = 16384"})
    done(root, {}, {SOMAXCONN: 4096})
    assert files(root)[OURS] == f"{HEADER}net.core.somaxconn = 16384\n"


def test_a_setting_that_the_kernel_lacks_is_an_error_unless_it_is_optional(root: Path) -> None:
    assert refused(root, {"kernel.no_such": 0, **NUMA}) == {("no_such_setting", "kernel.no_such")}
    assert refused(root, {}, {"net.core.somaxcon": 4096}) == {("no_such_setting", "net.core.somaxcon")}
    (fault,) = tried(root, {}, {"net.core.somaxcon": 4096}).faults
    assert SOMAXCONN in fault.message
    skipped = done(root, {"kernel.no_such": 0}, optional=("kernel.no_such",))
    assert (skipped["changed"], skipped["before"]) == (False, {"kernel.no_such": None})


def test_a_value_of_null_leaves_a_setting_alone(root: Path) -> None:
    assert done(root, {"kernel.numa_balancing": None}, {SOMAXCONN: None})["before"] == {}


@pytest.mark.parametrize("check_mode", [False, True])
def test_all_faults_are_told_before_the_first_change(root: Path, check_mode: bool) -> None:
    write(root, {"/proc/sys/net/ipv4/tcp_congestion_control": "cubic"})
    settings = {**NUMA, "numa": 0, "../../etc/passwd": 0, "kernel/../x": 0, "net.core.no_such": 1, SOMAXCONN: 1024}
    wrong = {"vm.max_map_count": "many", "net.ipv4.tcp_congestion_control": 1, SOMAXCONN: 4096}
    assert refused(root, settings, wrong, check_mode=check_mode) == {
        ("not_a_name", "numa"),
        ("not_a_name", "../../etc/passwd"),
        ("not_a_name", "kernel/../x"),
        ("no_such_setting", "net.core.no_such"),
        ("not_a_number", "vm.max_map_count"),
        ("no_minimum", "net.ipv4.tcp_congestion_control"),
        ("contradiction", SOMAXCONN),
    }


@pytest.mark.parametrize("value", ["", " ", "0\n1", True])
def test_a_value_must_be_a_line(root: Path, value: Any) -> None:
    assert refused(root, {"kernel.numa_balancing": value}) == {("not_a_value", "kernel.numa_balancing")}


def test_when_the_kernel_refuses_a_value_the_others_are_taken_back(root: Path) -> None:
    write(root, {"/proc/sys/vm/refuses": "->/dev/full"})
    assert refused(root, {**NUMA, "vm.refuses": 1}) == {("refused", "vm.refuses")}


def test_what_was_made_is_taken_back_and_nothing_else(root: Path) -> None:
    write(root, {"/proc/sys/vm/max_map_count": 1, "/proc/sys/fs/nr_open": 5})
    before = files(root)
    done(root, NUMA, {SOMAXCONN: 4096, "vm.max_map_count": 2, "fs.nr_open": 4})
    done(root, {}, {SOMAXCONN: 8192})  # the first value is the one that counts
    write(root, {"/proc/sys/vm/max_map_count": 3})  # somebody's own since
    made = files(root)
    told = take_back(str(root), check_mode=True)
    assert files(root) == made
    assert take_back(str(root), check_mode=False) == told
    assert files(root) == {**before, "proc/sys/vm/max_map_count": "3\n"}
    assert not (root / "var/lib/trainops").exists()
    assert [change["before_header"] for change in told.result["diff"]] == [
        "/proc/sys/kernel/numa_balancing",
        "/proc/sys/net/core/somaxconn",
        FILE,
    ]
    assert take_back(str(root), check_mode=False).result["changed"] is False


def test_blanks_between_numbers_do_not_matter(root: Path) -> None:
    write(root, {"/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456"})
    told = done(root, {"net.ipv4.tcp_rmem": "4096 131072 6291456"})
    assert [change["before_header"] for change in told["diff"]] == [FILE]


def test_files_that_win_at_the_next_boot_are_named_in_every_run(root: Path) -> None:
    write(
        root,
        {
            "/etc/sysctl.conf": "kernel.numa_balancing = 1",
            "/etc/sysctl.d/99-zz-site.conf": "# kernel.numa_balancing = 1\n-kernel/numa_balancing=1",
            "/usr/lib/sysctl.d/99-z-same.conf": "kernel.numa_balancing = 0",
            "/etc/sysctl.d/10-before.conf": "kernel.numa_balancing = 1",
            "/etc/sysctl.d/99-zz-notes.txt": "kernel.numa_balancing = 1",
            # A file of the same name in /etc takes its place.
            "/usr/lib/sysctl.d/99-zz-masked.conf": "kernel.numa_balancing = 1",
            "/etc/sysctl.d/99-zz-masked.conf": "",
        },
    )
    wins = {"kernel.numa_balancing": ["/etc/sysctl.d/99-zz-site.conf", "/etc/sysctl.conf"]}
    changes = [done(root, NUMA, {SOMAXCONN: 4096}) for _ in range(2)]
    assert [(one["changed"], one["overridden"]) for one in changes] == [(True, wins), (False, wins)]


def test_names_with_a_dot_in_a_part_are_written_with_slashes(root: Path) -> None:
    write(root, {"/proc/sys/net/ipv4/conf/eth0.100/rp_filter": 1})
    assert done(root, {"net/ipv4/conf/eth0.100/rp_filter": 2})["before"] == {"net/ipv4/conf/eth0.100/rp_filter": "1"}
    assert files(root)[OURS] == f"{HEADER}net/ipv4/conf/eth0.100/rp_filter = 2\n"
    assert Setting("net/core/somaxconn", "1").name == SOMAXCONN


def test_the_module_in_check_mode_on_this_machine(tmp_path: Path) -> None:
    found = Path("/proc/sys/net/core/somaxconn").read_text().strip()
    told = run_module(tmp_path, "kernel_settings", "--check", "--diff", settings={SOMAXCONN: int(found) + 1})
    assert (told["changed"], told["before"]) == (True, {SOMAXCONN: found})
    assert Path("/proc/sys/net/core/somaxconn").read_text().strip() == found
    # Even root cannot write this one.
    wrong = {"kernel.cap_last_cap": 1, "x": 0}
    assert call_module("kernel_settings", check=True, settings=wrong)["faults"] == [
        {"code": "not_a_name", "name": "x"},
        {"code": "read_only", "name": "kernel.cap_last_cap"},
    ]
