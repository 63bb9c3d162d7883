"""Trainings that a test starts are ended with it."""

from __future__ import annotations

import typing as t
import uuid

import pytest
from real_training import Training

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def training(tmp_path: Path) -> Iterator[Callable[..., Training]]:
    """Return what makes a run of a script. All runs of a test are on one node."""
    made: list[Training] = []
    # Processes and locks are found by the node's name, so the name has to be this test's own.
    node_name = f"node-{uuid.uuid4().hex}"

    def make(script: str = "exit 0", run_id: str = "run-1") -> Training:
        folder = tmp_path / f"training-{len(made)}"
        folder.mkdir()
        made.append(Training(folder, script, run_id, node_name))
        return made[-1]

    yield make
    for one in made:
        one.end()
