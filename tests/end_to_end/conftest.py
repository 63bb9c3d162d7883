"""A folder of its own for every test that plays a playbook; the trainer's package as ``trainer.tiny_lm``."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playbook_bench import Bench
from sshd_here import sshd  # noqa: F401

sys.path.append(str(Path(__file__).resolve().parents[2] / "roles/training/files"))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench; a training that a failed test left running is ended."""
    made = Bench(tmp_path)
    yield made
    for pid in made.trainings():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
