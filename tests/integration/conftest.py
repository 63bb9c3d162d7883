"""A cluster of real nodes for the tests of a file that train on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cluster_command import nodes_up
from cluster_of_nodes import Cluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    with nodes_up(cluster, 3):
        yield cluster
