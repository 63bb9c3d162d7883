from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.token import given_token, source_of_token


def test_the_variable_goes_before_the_file_and_neither_is_none(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(" of-the-file\n")
    assert given_token("of-the-variable\n", str(path)) == "of-the-variable"
    assert given_token("", str(path)) == "of-the-file"
    assert given_token("", "") is None


def test_a_file_of_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".hf_token").write_text("of-the-file")
    assert given_token("", "~/.hf_token") == "of-the-file"


def test_a_file_that_holds_none_is_told_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "token"
    with pytest.raises(ValueError, match="token cannot be read: No such file"):
        given_token("", str(path))
    path.write_text(" \n")
    with pytest.raises(ValueError, match="token is empty"):
        given_token("", str(path))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="is not UTF-8 text"):
        given_token("", str(path))


def test_a_plan_has_the_source_of_a_token_and_never_the_token(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("secret")
    assert source_of_token("secret", str(path)) == ("training_hf_token", [])
    assert source_of_token("", str(path)) == (str(path), [])
    assert source_of_token("", "") == (None, [])
    source, [fault] = source_of_token("", str(tmp_path / "none"))
    assert (source, fault["key"], fault["value"]) == (None, "training_hf_token_file", str(tmp_path / "none"))
