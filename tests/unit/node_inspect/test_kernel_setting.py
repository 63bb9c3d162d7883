from __future__ import annotations

import stat
from pathlib import Path

import pytest
from module_runs import call_module, run_module
from node_trees import write

from ansible_collections.trainops.cluster.plugins.modules.kernel_setting import (
    FILE,
    Setting,
    ensure,
    overriding,
    setting_of,
)

NUMA = setting_of("kernel.numa_balancing", "0", False)
SOMAXCONN = setting_of("net.core.somaxconn", "4096", True)
HEADER = "# Written by the Ansible collection trainops.cluster.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, {"/proc/sys/kernel/numa_balancing": 1, "/proc/sys/net/core/somaxconn": 128})
    return tmp_path


def files(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_a_setting_is_made_true_once_and_kept(root: Path) -> None:
    first = ensure(str(root), NUMA, check_mode=False)
    assert (first["changed"], first["value"]) == (True, "1")
    assert files(root) == {
        "proc/sys/kernel/numa_balancing": "0\n",
        "proc/sys/net/core/somaxconn": "128\n",
        FILE.lstrip("/"): f"{HEADER}kernel.numa_balancing = 0\n",
    }
    assert stat.S_IMODE((root / FILE.lstrip("/")).stat().st_mode) == 0o644
    assert ensure(str(root), NUMA, check_mode=False) == {"changed": False, "value": "0", "diff": []}


def test_check_mode_tells_the_same_and_writes_nothing(root: Path) -> None:
    before = files(root)
    told = ensure(str(root), NUMA, check_mode=True)
    assert files(root) == before
    assert told == ensure(str(root), NUMA, check_mode=False)
    assert [(change["before"], change["after"]) for change in told["diff"]] == [
        ("1\n", "0\n"),
        ("", f"{HEADER}kernel.numa_balancing = 0\n"),
    ]


def test_what_is_right_now_is_still_kept_over_a_reboot(root: Path) -> None:
    write(root, {"/proc/sys/kernel/numa_balancing": 0})
    done = ensure(str(root), NUMA, check_mode=False)
    assert [change["before_header"] for change in done["diff"]] == [FILE]


def test_settings_share_the_file_sorted_and_a_new_value_takes_the_place_of_the_old(root: Path) -> None:
    for setting in (SOMAXCONN, setting_of("kernel.numa_balancing", "1", False), NUMA):
        ensure(str(root), setting, check_mode=False)
    assert files(root)[FILE.lstrip("/")] == f"{HEADER}kernel.numa_balancing = 0\nnet.core.somaxconn = 4096\n"


def test_a_greater_value_is_neither_lowered_nor_written(root: Path) -> None:
    write(root, {"/proc/sys/net/core/somaxconn": 65535})
    assert ensure(str(root), SOMAXCONN, check_mode=False) == {"changed": False, "value": "65535", "diff": []}
    assert FILE.lstrip("/") not in files(root)


def test_a_kernel_without_the_setting_is_left_alone(root: Path) -> None:
    done = ensure(str(root), setting_of("kernel.no_such", "0", False), check_mode=False)
    assert done == {
        "changed": False,
        "skipped": True,
        "value": None,
        "msg": "this kernel has no setting kernel.no_such",
    }


def test_blanks_between_numbers_do_not_matter(root: Path) -> None:
    write(root, {"/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456"})
    done = ensure(str(root), setting_of("net.ipv4.tcp_rmem", "4096 131072 6291456", False), check_mode=False)
    assert [change["before_header"] for change in done["diff"]] == [FILE]


def test_files_that_win_at_the_next_boot_are_named(root: Path) -> None:
    write(
        root,
        {
            "/etc/sysctl.d/99-zz-site.conf": "# kernel.numa_balancing = 1\n-kernel/numa_balancing=1",
            "/usr/lib/sysctl.d/99-z-same.conf": "kernel.numa_balancing = 0",
            "/etc/sysctl.d/10-before.conf": "kernel.numa_balancing = 1",
            "/etc/sysctl.d/99-zz-notes.txt": "kernel.numa_balancing = 1",
        },
    )
    assert overriding(str(root), NUMA) == ["/etc/sysctl.d/99-zz-site.conf"]
    assert overriding(str(root), SOMAXCONN) == []


def test_names_with_a_dot_in_a_part_are_written_with_slashes() -> None:
    assert setting_of("net/ipv4/conf/eth0.100/rp_filter", "2", False).name == "net/ipv4/conf/eth0.100/rp_filter"
    assert Setting("net/core/somaxconn", "1", False).name == "net.core.somaxconn"


@pytest.mark.parametrize(
    ("name", "value", "at_least", "message"),
    [
        ("numa", "0", False, "name is 'numa', but must be a kernel setting"),
        ("../../etc/passwd", "0", False, "but must be a kernel setting"),
        ("kernel/../x", "0", False, "but must be a kernel setting"),
        ("kernel.numa_balancing", " ", False, "value is ' ', but must be a single non-empty line"),
        ("kernel.numa_balancing", "0\n1", False, "but must be a single non-empty line"),
        ("net.core.somaxconn", "many", True, "value is 'many', but with at_least it must be a whole number"),
    ],
)
def test_wrong_options_are_said(name: str, value: str, at_least: bool, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        setting_of(name, value, at_least)


def test_words_are_not_compared_with_a_least_number(root: Path) -> None:
    write(root, {"/proc/sys/net/core/somaxconn": "cubic"})
    with pytest.raises(ValueError, match=r"net\.core\.somaxconn.*'cubic'"):
        ensure(str(root), SOMAXCONN, check_mode=True)


def test_the_module_in_check_mode_on_this_machine(tmp_path: Path) -> None:
    found = Path("/proc/sys/net/core/somaxconn").read_text().strip()
    options = {"name": "net.core.somaxconn", "value": str(int(found) + 1)}
    told = run_module(tmp_path, "kernel_setting", "--check", "--diff", **options)
    assert (told["changed"], told["value"]) == (True, found)
    assert Path("/proc/sys/net/core/somaxconn").read_text().strip() == found
    assert "must be a kernel setting" in call_module("kernel_setting", check=True, name="x", value="0")["msg"]
