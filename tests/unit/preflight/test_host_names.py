from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.names import folded


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["node1"], "node1"),
        (["node1", "node2", "node3"], "node[1-3]"),
        (["gpu01", "gpu02", "gpu04"], "gpu[01-02,04]"),
        ([f"gpu{number:02}" for number in range(8, 13)], "gpu[08-12]"),
        (["node9", "node10"], "node[9-10]"),
        (["gpu7", "gpu008"], "gpu008,gpu7"),
        (["rack1-n1.lab", "rack1-n2.lab", "rack2-n1.lab"], "rack1-n[1-2].lab,rack2-n1.lab"),
        (["n01", "n99", "n100"], "n[01,99-100]"),
        (["head", "node1", "node2"], "node[1-2],head"),
        (["10.0.0.7", "10.0.0.8"], "10.0.0.[7-8]"),
    ],
)
def test_names_that_differ_in_their_last_number_are_folded(names: list[str], text: str) -> None:
    assert folded(names) == text
