"""Files of a run are whole or not there."""

from __future__ import annotations

import errno

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.whole_file import (
    NotWrittenError,
    replacing,
    write_whole,
)


def test_what_fails_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "report.html"
    write_whole(path, "first")

    def write_half() -> None:
        with replacing(path) as draft:
            draft.write_text("sec")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(NotWrittenError) as caught:
        write_half()
    assert (caught.value.filename, caught.value.strerror) == (str(path), "No space left on device")
    assert caught.value.needs_room
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [("report.html", "first")]


def test_two_who_write_a_file_at_once_both_succeed(tmp_path):
    path = tmp_path / "status.json"
    with replacing(path) as one, replacing(path) as other:
        one.write_text("one")
        other.write_text("other")
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [("status.json", "one")]


def test_a_folder_that_is_a_file_is_named_and_needs_no_room(tmp_path):
    (tmp_path / "runs").touch()
    with pytest.raises(NotWrittenError, match="Not a directory") as caught:
        Board(tmp_path / "runs/one").write_plan({"nodes": []})
    assert not caught.value.needs_room


@pytest.mark.parametrize(
    ("known", "mib"),
    [
        ({}, 10),
        ({"log_bytes": 8 << 20, "last_step": 50, "steps_total": 100}, 48),
        ({"log_bytes": 8 << 20, "last_step": 1, "steps_total": 1_000_000}, 768),
    ],
    ids=["nothing is known", "half of the steps", "as much of a log as is kept"],
)
def test_the_room_that_a_run_needs_is_that_of_its_logs_in_the_end(tmp_path, known, mib):
    board = Board(tmp_path / "one")
    board.write_plan({"nodes": [{"node": "a"}]})
    board.update("a", **known)
    assert board.room_needed() == mib << 20
