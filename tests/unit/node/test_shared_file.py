"""The file that rank 0 leaves in the data cache while all nodes are inspected."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.trainops.cluster.plugins.module_utils.node.phases.shared_file import shared_file


def file_in(path: Path) -> str | None:
    return t.cast("str | None", shared_file(t.cast("t.Any", {"shared_file": str(path)}))["file"])


def test_it_is_left_in_the_folder_or_where_that_would_be_made(tmp_path: Path) -> None:
    first, second = file_in(tmp_path), file_in(tmp_path / "not" / "there")
    assert first
    assert second
    assert first != second
    assert {Path(first).parent, Path(second).parent} == {tmp_path}
    assert not Path(first).read_bytes()


def test_it_is_removed_and_no_other_file_is(tmp_path: Path) -> None:
    made = file_in(tmp_path)
    other = tmp_path / "model.bin"
    other.write_text("weights")
    assert made
    assert file_in(Path(made)) is None
    file_in(Path(made))
    assert list(tmp_path.iterdir()) == [other]


def test_a_folder_that_nobody_can_write_to_has_none() -> None:
    assert file_in(Path("/proc/1")) is None
