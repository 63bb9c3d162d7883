"""Trainings that a test starts are ended with it."""

from __future__ import annotations

import typing as t

import pytest
from real_training import Training

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def training(tmp_path: Path) -> Iterator[Callable[..., Training]]:
    """Return what makes a training of a script."""
    made: list[Training] = []

    def make(script: str = "exit 0") -> Training:
        folder = tmp_path / f"training-{len(made)}"
        folder.mkdir()
        made.append(Training(folder, script))
        return made[-1]

    yield make
    for one in made:
        one.end()
