from __future__ import annotations

import os

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.files import (
    read_json,
    read_text,
    write_json,
    write_text,
)


def test_a_file_is_written_where_it_differs_only(tmp_path):
    path = str(tmp_path / "file")
    assert write_text(path, "one", 0o640) is True
    before = os.stat(path)
    assert write_text(path, "one", 0o640) is False
    assert os.stat(path).st_ino == before.st_ino
    assert write_text(path, "two", 0o640) is True
    assert read_text(path) == "two"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_a_file_has_its_mode_from_the_first_byte_on(mode, tmp_path):
    path = str(tmp_path / "file")
    write_text(path, "secret", mode)
    assert os.stat(path).st_mode & 0o777 == mode


def test_a_reader_of_the_old_file_keeps_it_whole(tmp_path):
    path = str(tmp_path / "file")
    write_text(path, "old" * 1000, 0o640)
    with open(path, encoding="utf-8") as reader:
        write_text(path, "new", 0o640)
        assert reader.read() == "old" * 1000


def test_json_comes_back_as_it_was_and_a_file_that_is_not_there_is_none(tmp_path):
    path = str(tmp_path / "state.json")
    assert read_json(path) is None
    assert read_text(path) is None
    write_json(path, {"status": "exited", "exit_status": 0, "words": ["ö"]})
    assert read_json(path) == {"status": "exited", "exit_status": 0, "words": ["ö"]}
