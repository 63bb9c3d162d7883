# SPDX-License-Identifier: GPL-3.0-or-later
"""The readings of accelerators while they work, from a tree of files such as amdgpu's."""

from __future__ import annotations

import threading
import typing as t
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node import telemetry
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.sensors import pcie_link
from ansible_collections.trainops.cluster.plugins.module_utils.node.telemetry import Watch, busiest

BOARD = "sys/bus/pci/devices/0000:05:00.0"
KFD = "sys/class/kfd/kfd/topology/nodes/1"


def tree(root: Path, **changes: str) -> None:
    files = {
        f"{KFD}/gpu_id": "4660",
        f"{KFD}/properties": "domain 0\nlocation_id 1280\ndevice_id 29857\n",
        f"{BOARD}/current_link_speed": "16.0 GT/s PCIe",
        f"{BOARD}/max_link_speed": "32.0 GT/s PCIe",
        f"{BOARD}/current_link_width": "16",
        f"{BOARD}/max_link_width": "16",
        f"{BOARD}/hwmon/hwmon3/power1_average": "745000000",
        f"{BOARD}/hwmon/hwmon3/freq1_input": "2100000000",
        **changes,
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


def test_a_link_at_half_its_speed_is_seen_and_one_without_files_is_not_known(tmp_path: Path) -> None:
    tree(tmp_path)
    found = pcie_link(str(tmp_path), "0000:05:00.0")
    assert (found["pcie_speed"], found["pcie_speed_limit"]) == (16.0, 32.0)
    assert (found["pcie_width"], found["pcie_width_limit"]) == (16, 16)
    assert set(pcie_link(str(tmp_path), "0000:06:00.0").values()) == {None}


def test_a_gpu_is_watched_while_it_works(tmp_path: Path) -> None:
    tree(tmp_path)
    with Watch(str(tmp_path)) as watch:
        pass
    (found,) = watch.found()
    assert (found["part"], found["power"], found["clock"], found["pcie_speed"]) == ("GPU 0", 745.0, 2100.0, 16.0)


def test_a_look_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path)
    hangs = threading.Event()

    def hanging(_root: str) -> list[t.Any]:
        hangs.wait()
        return []

    monkeypatch.setattr(telemetry, "readings", hanging)

    def watch() -> None:
        with Watch(str(tmp_path), patience=0.1):
            pass

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    watching.join(30)
    ended = not watching.is_alive()
    hangs.set()
    assert ended


def test_a_node_without_accelerators_has_nothing_to_say(tmp_path: Path) -> None:
    with Watch(str(tmp_path)) as watch:
        pass
    assert watch.found() == []


def test_what_counts_is_the_moment_of_most_power_and_the_highest_temperature() -> None:
    seen: list[t.Any] = [
        {"power": 80.0, "clock": 1980.0, "temperature": 44.0},
        {"power": 690.0, "clock": 1510.0, "temperature": 60.0},
        {"power": 120.0, "clock": 1980.0, "temperature": 65.0},
    ]
    assert busiest(seen) == {"power": 690.0, "clock": 1510.0, "temperature": 65.0}
