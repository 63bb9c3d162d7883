from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from other_user import MALLORY, Mallory, as_user, needs_root

from ansible_collections.trainops.cluster.plugins.module_utils.node.own_folders import (
    UntrustedError,
    has_run_folder,
    make_run_folder,
    private_folder,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o002)
    yield
    os.umask(before)


def test_the_private_folder_is_made_for_its_user_alone(own_machine: Path) -> None:
    assert private_folder(make=False) is None
    assert private_folder() == private_folder(make=False) == str(own_machine)
    assert mode(own_machine) == 0o700


def test_a_private_folder_that_others_could_write_is_refused(own_machine: Path) -> None:
    own_machine.mkdir()
    own_machine.chmod(0o770)
    with pytest.raises(UntrustedError) as refused:
        private_folder()
    (found,) = refused.value.problems
    assert (found["code"], found["values"]["path"]) == ("folder_open", str(own_machine))


@needs_root
def test_a_users_private_folder_is_in_his_runtime_folder_else_in_his_home(
    mallory: Mallory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRAINOPS_LOCK_FOLDER", raising=False)
    monkeypatch.setenv("HOME", str(mallory.open_folder / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(mallory.open_folder / "runtime"))
    mallory.does("mkdir -m 700 home runtime")
    assert as_user(MALLORY, lambda: str(private_folder())) == f"{mallory.open_folder}/runtime/trainops"
    (mallory.open_folder / "runtime").chmod(0o755)
    in_home = Path(as_user(MALLORY, lambda: str(private_folder())))
    assert in_home.parent == mallory.open_folder / "home/.local/state/trainops"
    # A home may be shared by many machines.
    assert in_home.name.startswith(f"{os.uname().nodename}-")
    assert (mode(in_home), in_home.stat().st_uid) == (0o700, MALLORY)


@needs_root
def test_the_runtime_folder_of_somebody_else_is_not_used(mallory: Mallory, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the environment of a shell that ``su`` started."""
    monkeypatch.delenv("TRAINOPS_LOCK_FOLDER", raising=False)
    monkeypatch.setenv("HOME", str(mallory.open_folder))
    runtime = mallory.open_folder / "of_root"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    assert as_user(MALLORY, lambda: str(private_folder())).startswith(f"{mallory.open_folder}/.local/state/")


@pytest.mark.usefixtures("umask")
def test_a_runs_folder_is_made_with_what_is_above_it_and_nobody_else_can_write_it(tmp_path: Path) -> None:
    folder = tmp_path / "deep/logs/run-1/gpu00"
    assert not has_run_folder(str(folder))
    make_run_folder(str(folder))
    make_run_folder(str(folder))
    assert has_run_folder(str(folder))
    assert (mode(folder.parent), mode(folder)) == (0o755, 0o750)


def test_links_that_the_user_or_root_has_made_above_a_runs_folder_are_followed(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "absolute").symlink_to(tmp_path / "disk")
    (tmp_path / "disk/relative").symlink_to("../disk/./logs")
    (tmp_path / "disk/logs").mkdir()
    folder = tmp_path / "absolute/relative/run-1/gpu00"
    make_run_folder(str(folder))
    assert has_run_folder(str(folder))
    assert (tmp_path / "disk/logs/run-1/gpu00").is_dir()


def test_a_circle_of_links_is_told(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(UntrustedError, match="loop of links"):
        make_run_folder(str(tmp_path / "round/run-1/gpu00"))


def test_a_runs_folder_that_others_can_write_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run-1/gpu00"
    make_run_folder(str(folder))
    folder.chmod(0o770)
    with pytest.raises(UntrustedError, match=r"others can write to \S+/gpu00 \(mode 0770\)"):
        has_run_folder(str(folder))
    folder.chmod(0o750)
    folder.parent.chmod(0o757)
    with pytest.raises(UntrustedError, match=r"others can write to \S+/run-1 \(mode 0757\)"):
        make_run_folder(str(folder))


@needs_root
def test_the_log_dir_may_lie_in_the_home_of_somebody_whom_the_config_names(mallory: Mallory) -> None:
    folder = mallory.open_folder / "home/LOGS/run-1/gpu00"
    mallory.open_folder.chmod(0o755)
    (mallory.open_folder / "home").mkdir()
    os.chown(mallory.open_folder / "home", MALLORY, MALLORY)
    mallory.does("chmod 775 home; mkdir home/LOGS")
    make_run_folder(str(folder))
    assert folder.stat().st_uid == 0
