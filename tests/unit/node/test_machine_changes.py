"""What changed on a machine during a run, read from a tree of the kernel's files."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.machine_changes import changes_since, noted

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
    return tmp_path


def write(root: Path, files: dict[str, object]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{content}\n")


def record(priority: int, message: str, seconds: float | None = None) -> str:
    microseconds = int((time.monotonic() + 1 if seconds is None else seconds) * 1e6)
    return f"{priority},17,{microseconds},-;{message}"


def test_where_nothing_happened_nothing_changed(machine):
    changes = changes_since(noted(str(machine)), str(machine))
    assert changes == {"booted": False, "counters": {}, "kernel_log": [], "kernel_lines": 0, "kernel_failures": []}


def test_counters_of_trouble_that_grew_are_named_with_their_port_or_interface(machine):
    before = noted(str(machine))
    write(machine, {path: value + 7 for path, value in COUNTERS.items()})
    assert changes_since(before, str(machine))["counters"] == {
        "mlx5_0/1 symbol_error": 7,
        "mlx5_0/1 out_of_sequence": 7,
        "eth0 rx_errors": 7,
    }


def test_the_kernel_log_holds_warnings_since_the_start_and_the_failures_among_them(machine):
    before = noted(str(machine))
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


def test_a_flood_of_the_kernel_is_bounded_and_counted(machine):
    before = noted(str(machine))
    write(machine, {"dev/kmsg": "\n".join(record(4, f"{number} " + "x" * 3000) for number in range(500))})
    changes = changes_since(before, str(machine))
    assert changes["kernel_lines"] == 500
    assert [len(changes["kernel_log"]), max(map(len, changes["kernel_log"]))] == [60, 400]


def test_after_a_boot_counters_count_from_zero(machine):
    before = noted(str(machine))
    write(machine, {"proc/sys/kernel/random/boot_id": "second-boot", f"{PORT}/counters/symbol_error": 1})
    changes = changes_since(before, str(machine))
    assert (changes["booted"], changes["counters"]) == (True, {"mlx5_0/1 symbol_error": 1})


def test_a_kernel_log_that_cannot_be_read_is_none_and_not_empty(machine):
    before = noted(str(machine))
    (machine / "dev/kmsg").unlink()
    assert changes_since(before, str(machine))["kernel_log"] is None
