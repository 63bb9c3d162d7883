"""A Slurm for the tests of a file, and the machine that submits to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from slurm_bench import Slurm, unpacked, with_nodes
from slurm_login import Login, wait_until


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with with_nodes(lambda: unpacked(tmp_path_factory.mktemp("slurm"))) as found:
        yield found


@pytest.fixture
def login(slurm: Slurm, tmp_path: Path) -> Iterator[Login]:
    yield Login(slurm, tmp_path)
    slurm.run("scancel", "--user", "root")
    wait_until(lambda: not slurm.run("squeue", "--noheader"))
