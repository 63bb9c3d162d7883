"""Changes on a machine during a run, read from a tree of the kernel's files."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.machine_changes import (
    changes_since,
    killed_for_memory,
    memory_group,
    noted,
)

PORT = "sys/class/infiniband/mlx5_0/ports/1"
COUNTERS = {
    f"{PORT}/counters/symbol_error": 2,
    f"{PORT}/counters/port_rcv_data": 1000,
    f"{PORT}/hw_counters/out_of_sequence": 0,
    "sys/class/net/eth0/statistics/rx_errors": 0,
    "sys/class/net/eth0/statistics/rx_bytes": 5000,
    "sys/class/net/veth9/statistics/rx_errors": 0,
}


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    (tmp_path / "sys/class/net/eth0/device").mkdir(parents=True)
    write(tmp_path, COUNTERS | {"proc/sys/kernel/random/boot_id": "first-boot", "dev/kmsg": ""})
    write(tmp_path, {"proc/vmstat": "nr_free_pages 17\noom_kill 2"})
    return tmp_path


def before_start(root: Path, group: str | None = None) -> dict:
    return {**noted(str(root)), "memory_group": group}


def write(root: Path, files: dict[str, object]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{content}\n")


def record(priority: int, message: str, seconds: float | None = None) -> str:
    microseconds = int((time.monotonic() + 1 if seconds is None else seconds) * 1e6)
    return f"{priority},17,{microseconds},-;{message}"


def test_where_nothing_happened_nothing_changed(machine):
    changes = changes_since(before_start(machine), str(machine))
    assert changes == {
        "booted": False,
        "counters": {},
        "links_down": [],
        "kernel_log": [],
        "kernel_lines": 0,
        "kernel_failures": [],
        "facts": [],
    }


def test_counters_of_trouble_that_grew_are_named_with_their_port_or_interface(machine):
    before = before_start(machine)
    write(machine, {path: value + 7 for path, value in COUNTERS.items()})
    assert changes_since(before, str(machine))["counters"] == {
        "mlx5_0/1 symbol_error": 7,
        "mlx5_0/1 out_of_sequence": 7,
        "eth0 rx_errors": 7,
    }


def test_the_kernel_log_holds_warnings_since_the_start_and_the_failures_among_them(machine):
    before = before_start(machine)
    lines = [
        record(4, "mlx5_core 0000:0c:00.0: an earlier matter", seconds=0.5),
        record(6, "usb 1-1: new device"),
        record(3, "Out of memory: Killed process 4711 (python3) total-vm:1kB"),
        " SUBSYSTEM=pci",
        "torn",
        "3;torn in its head",
        "3,17,soon,-;torn in its time",
    ]
    write(machine, {"dev/kmsg": "\n".join(lines)})
    changes = changes_since(before, str(machine))
    assert changes["kernel_log"] == ["Out of memory: Killed process 4711 (python3) total-vm:1kB"]
    assert changes["kernel_lines"] == 1


def test_what_the_kernel_says_of_a_device_is_a_fact_with_its_time_since_the_start(machine):
    before = before_start(machine)
    lines = [
        record(3, "NVRM: Xid (PCI:0000:3b:00): 63, pid=7, Row Remapper: New row marked", before["uptime"] + 60),
        record(6, "usb 1-1: new device", before["uptime"] + 61),
        record(3, "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", before["uptime"] + 90),
    ]
    write(machine, {"dev/kmsg": "\n".join(lines)})
    facts = changes_since(before, str(machine))["facts"]
    assert [(fact["fact"], fact["device"], fact["seconds"]) for fact in facts] == [
        ("xid_79", "0000:3b:00", 90.0),
        ("xid_63", "0000:3b:00", 60.0),
    ]


def test_a_link_that_is_gone_at_the_end_is_named_and_one_that_is_there_again_is_not(machine):
    links = {f"{PORT}/state": "4: ACTIVE", "sys/class/net/eth0/operstate": "up"}
    write(machine, links)
    before = before_start(machine)
    write(machine, dict.fromkeys(links, "1: DOWN"))
    assert changes_since(before, str(machine))["links_down"] == ["mlx5_0/1", "eth0"]
    write(machine, links)
    assert changes_since(before, str(machine))["links_down"] == []


def test_a_run_that_an_earlier_release_started_has_no_links_that_went_down(machine):
    before = before_start(machine)
    del before["links"]
    assert changes_since(before, str(machine))["links_down"] == []


def test_a_flood_of_the_kernel_is_bounded_and_counted(machine):
    before = before_start(machine)
    write(machine, {"dev/kmsg": "\n".join(record(4, f"{number} " + "x" * 3000) for number in range(500))})
    changes = changes_since(before, str(machine))
    assert changes["kernel_lines"] == 500
    assert [len(changes["kernel_log"]), max(map(len, changes["kernel_log"]))] == [60, 400]


def test_after_a_boot_counters_count_from_zero(machine):
    before = before_start(machine)
    write(machine, {"proc/sys/kernel/random/boot_id": "second-boot", f"{PORT}/counters/symbol_error": 1})
    changes = changes_since(before, str(machine))
    assert (changes["booted"], changes["counters"]) == (True, {"mlx5_0/1 symbol_error": 1})


def test_a_kernel_log_that_cannot_be_read_is_none_and_not_empty(machine):
    before = before_start(machine)
    (machine / "dev/kmsg").unlink()
    assert changes_since(before, str(machine))["kernel_log"] is None


CONTAINER = "/machine.slice/libpod-4711.scope"
KILLED = (
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,mems_allowed=0,oom_memcg=/machine.slice,"
    "task_memcg={},task=python3,pid=17,uid=0"
)


@pytest.mark.parametrize(
    ("ours", "killed", "by_sigkill", "is_ours"),
    [
        (CONTAINER, CONTAINER, False, True),
        (CONTAINER, f"{CONTAINER}/container", False, True),
        (CONTAINER, f"/outer/node1{CONTAINER}", False, True),
        (CONTAINER, f"{CONTAINER}2", True, False),
        (CONTAINER, "/", True, False),
        ("/", "/", False, True),
        ("/", CONTAINER, True, False),
        (CONTAINER, None, True, True),
        (CONTAINER, None, False, False),
        (None, CONTAINER, True, True),
    ],
)
def test_what_was_killed_for_memory_is_ours_by_its_group(machine, ours, killed, by_sigkill, is_ours):
    before = before_start(machine, ours)
    said = [record(6, KILLED.format(killed)), record(3, "Memory cgroup out of memory: Killed process 17 (python3)")]
    write(machine, {"proc/vmstat": "oom_kill 3", "dev/kmsg": "\n".join(said if killed else [])})
    assert killed_for_memory(before, by_sigkill, str(machine)) is is_ours
    told = [failure["class"] for failure in changes_since(before, str(machine))["kernel_failures"]]
    assert told == (["host_memory"] if killed and (is_ours or ours is None) else [])


@pytest.mark.parametrize("count", ["oom_kill 2", "nr_free_pages 17"], ids=["as before", "an old kernel"])
def test_where_the_kernel_counted_no_kill_a_sigkill_was_somebody_elses(machine, count):
    write(machine, {"proc/vmstat": count})
    before = before_start(machine, CONTAINER)
    assert killed_for_memory(before, by_sigkill=True, root=str(machine)) is False


@pytest.mark.parametrize(
    ("groups", "group"),
    [
        ("0::/system.slice/docker-4711.scope", "/system.slice/docker-4711.scope"),
        ("9:name=systemd:/a\n6:cpu,memory:/docker/4711\n0::/b", "/docker/4711"),
        ("9:name=systemd:/a", None),
    ],
    ids=["version 2", "version 1", "none"],
)
def test_the_group_that_counts_memory_is_found_in_both_versions(machine, groups, group):
    write(machine, {"proc/17/cgroup": groups})
    assert memory_group(17, str(machine)) == group


def test_this_machine_has_such_a_group():
    assert memory_group(os.getpid()).startswith("/")
