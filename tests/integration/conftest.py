"""A cluster of real nodes for the tests of a file that train on it, and a Slurm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_command import nodes_up
from cluster_of_nodes import Cluster
from slurm_bench import Slurm, unpacked, with_nodes
from slurm_login import Login, wait_until


@pytest.fixture(scope="session")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    with nodes_up(cluster, 3):
        yield cluster


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with with_nodes(lambda: unpacked(tmp_path_factory.mktemp("slurm"))) as found:
        yield found


@pytest.fixture
def login(slurm: Slurm, tmp_path: Path) -> Iterator[Login]:
    yield Login(slurm, tmp_path)
    slurm.run("scancel", "--user", "root")
    wait_until(lambda: not slurm.run("squeue", "--noheader"))
