"""Finds logs."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest

if t.TYPE_CHECKING:
    from collections.abc import Callable

WRITTEN_LOGS = Path(__file__).resolve().parents[1] / "data/logs"
REAL_LOGS = os.environ.get("TRAINOPS_REAL_LOGS")


@pytest.fixture(scope="session")
def log_named() -> Callable[[str], Path]:
    """Return a function that finds a log of tests/data/logs, or TRAINOPS_REAL_LOGS' real one of the same name."""

    def find(name: str) -> Path:
        real = Path(REAL_LOGS or WRITTEN_LOGS, name)
        return real if real.exists() else WRITTEN_LOGS / name

    return find
