from __future__ import annotations

import resource
import stat
import subprocess
import typing as t
from pathlib import Path

import pytest
from real_training import wait_until

from ansible_collections.trainops.cluster.plugins.module_utils.node.own_folders import UntrustedError
from ansible_collections.trainops.cluster.plugins.module_utils.node.secret_files import place, remove, remove_after


@pytest.mark.parametrize(
    ("given", "of_node", "sent", "placed"),
    [
        ({"hf_token": "given"}, "of the node", {"hf_token": "of the controller"}, "given"),
        ({}, "of the node", {"hf_token": "of the controller"}, "of the node"),
        ({}, None, {"hf_token": "of the controller\n"}, "of the controller"),
        ({}, None, {}, ""),
    ],
)
def test_what_is_given_goes_first_then_the_nodes_own_file_then_the_controllers(
    tmp_path: Path, given: dict[str, str], of_node: str | None, sent: dict[str, str], placed: str
) -> None:
    source, target = tmp_path / "source", tmp_path / "memory/hf_token"
    if of_node:
        source.write_text(of_node)
    node = {"secrets": [{"name": "hf_token", "source": str(source), "target": str(target)}]}
    warnings = place(node, given, sent)
    assert target.read_text() == placed
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert len(warnings) == (not placed)
    remove(node)
    assert not target.parent.exists()


def test_a_secret_that_is_there_is_replaced_and_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    precious, target = tmp_path / "precious", tmp_path / "memory/hf_token"
    precious.write_text("precious")
    node = {"secrets": [{"name": "hf_token", "source": "/nowhere", "target": str(target)}]}
    for value in ("one", "two"):
        place(node, {"hf_token": value}, {})
        assert target.read_text() == value
    target.unlink()
    target.symlink_to(precious)
    place(node, {"hf_token": "three"}, {})
    assert (target.read_text(), precious.read_text()) == ("three", "precious")


def test_a_secret_that_memory_has_no_room_for_is_named(tmp_path: Path) -> None:
    target = tmp_path / "memory/hf_token"
    node = {"secrets": [{"name": "hf_token", "source": "/nowhere", "target": str(target)}]}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, hard))
    with pytest.raises(OSError, match="too large") as refused:
        place(node, {"hf_token": "longer than that"}, {})
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert refused.value.filename == str(target)


def test_a_folder_that_others_can_write_gets_no_secret_and_is_not_removed(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    folder.chmod(0o777)
    node = {"secrets": [{"name": "hf_token", "source": "/nowhere", "target": str(folder / "hf_token")}]}
    with pytest.raises(UntrustedError, match="others can write to"):
        place(node, {"hf_token": "secret"}, {})
    remove(node)
    assert list(folder.iterdir()) == []


def test_a_secret_is_gone_soon_after_the_process_for_which_it_is_there(tmp_path: Path) -> None:
    target = tmp_path / "it's memory/hf_token"
    node = {"secrets": [{"name": "hf_token", "source": "/nowhere", "target": str(target)}]}
    place(node, {"hf_token": "secret"}, {})
    with subprocess.Popen(["sleep", "1000"]) as training:
        remove_after(node, training.pid)
        assert target.exists()
        training.kill()
        # Nobody has waited for it yet, so it is a zombie, as in a container whose first process waits for nobody.
        wait_until(lambda: not target.parent.exists())


def test_what_removes_the_secrets_of_a_run_leaves_those_of_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, waiting = tmp_path / "memory/hf_token", []

    class Kept(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: t.Any, **kwargs: t.Any) -> None:
            super().__init__(*args, **kwargs)
            waiting.append(self)

    node = {"secrets": [{"name": "hf_token", "source": "/nowhere", "target": str(target)}]}
    place(node, {"hf_token": "one"}, {})
    with subprocess.Popen(["sleep", "1000"]) as training:
        with monkeypatch.context() as context:
            context.setattr(subprocess, "Popen", Kept)
            remove_after(node, training.pid)
        place(node, {"hf_token": "two"}, {})
        training.kill()
    waiting[0].wait()
    assert target.read_text() == "two"


def test_a_folder_that_was_made_anew_and_is_still_empty_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, waiting, popen = tmp_path / "memory", [], subprocess.Popen
    node = {"secrets": [{"name": "hf_token", "source": "/nowhere", "target": str(folder / "hf_token")}]}
    place(node, {"hf_token": "one"}, {})
    with popen(["sleep", "1000"]) as training:
        with monkeypatch.context() as context:
            context.setattr(subprocess, "Popen", lambda *args, **kwargs: waiting.append(popen(*args, **kwargs)))
            remove_after(node, training.pid)
        remove(node)
        folder.mkdir(0o700)
        training.kill()
    waiting[0].wait()
    assert folder.is_dir()
