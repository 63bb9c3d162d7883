"""Trainings that a test starts are ended with it."""

from __future__ import annotations

import shutil
import tempfile
import typing as t
import uuid
from pathlib import Path

import pytest
from other_user import Mallory
from real_training import Training

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let this machine stand for one of the test's own, and return the folder of its records."""
    folder = tmp_path / "machine"
    monkeypatch.setenv("TRAINOPS_LOCK_FOLDER", str(folder))
    return folder


@pytest.fixture
def training(tmp_path: Path, own_machine: Path) -> Iterator[Callable[..., Training]]:  # noqa: ARG001  # its runs hold it
    """Return a maker of runs of a script. All runs of a test are on one node."""
    made: list[Training] = []
    # Processes are found by the node's name, so the name has to be this test's own.
    node_name = f"node-{uuid.uuid4().hex}"

    def make(script: str = "exit 0", run_id: str = "run-1") -> Training:
        folder = tmp_path / f"training-{len(made)}"
        folder.mkdir()
        made.append(Training(folder, script, run_id, node_name))
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture
def mallory() -> Iterator[Mallory]:
    """Let another user be about, and have a folder that everybody may write."""
    folder = Path(tempfile.mkdtemp(prefix="trainops-test-"))
    folder.chmod(0o1777)
    mallory = Mallory(folder)
    yield mallory
    mallory.end()
    shutil.rmtree(folder)
