"""The messages about a disk with too little room."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.room import room_problems

GIB = 1024**3


def test_paths_on_one_disk_share_its_room(tmp_path: Path) -> None:
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    logs, data = str(tmp_path / "logs/not/yet"), str(tmp_path / "data")
    assert room_problems({logs: free // 2, data: free // 4}) == []
    (problem,) = room_problems({logs: free, data: GIB})
    assert problem["code"] == "too_little_room"
    assert (problem["values"]["paths"], problem["values"]["disk"]) == ([logs, data], str(tmp_path))
    assert problem["values"]["needed_gib"] == pytest.approx(free / GIB + 1)
