# SPDX-License-Identifier: GPL-3.0-or-later
"""A real training on machines that have no accelerator: refused on all of them before it starts, unless allowed."""

from __future__ import annotations

import json

import pytest
from playbook_bench import Bench

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.gpus import has_no_accelerator

PLAYBOOK = "megatron_multinode.yml"


@pytest.fixture
def of_mi300x(bench: Bench) -> tuple:
    if not has_no_accelerator("/"):
        pytest.skip("this machine may have an accelerator")
    config = bench.config()
    data = json.loads(config.read_text())
    of_model = data["model_params"]["multi_node"]["llama3_tiny"]
    of_model["mi300x"] = of_model.pop("cpu")
    config.write_text(json.dumps(data))
    return bench.inventory(node0={}, node1={}), config


def test_all_nodes_without_the_accelerator_are_refused_at_once_and_none_trains(bench: Bench, of_mi300x: tuple) -> None:
    done = bench.play(PLAYBOOK, *of_mi300x, training_run_id="one")
    assert done.status != 0
    assert done.summary["verdict"] == "ERROR"
    found = {node: json.loads((done.run_dir / f"nodes/{node}/status.json").read_text()) for node in ("node0", "node1")}
    for node, status in found.items():
        assert [one["code"] for one in status["problems"]] == ["no_gpu"], node
        assert "started_at" not in status, node


def test_a_user_may_train_on_them_anyway(bench: Bench, of_mi300x: tuple) -> None:
    done = bench.play(PLAYBOOK, *of_mi300x, training_require_gpu=False, training_record_only=True)
    assert {node["state"] for node in done.summary["nodes"]} == {"exited"}, done.output
