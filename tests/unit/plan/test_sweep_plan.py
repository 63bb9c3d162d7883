# SPDX-License-Identifier: GPL-3.0-or-later
"""The plans of all cells, for each framework, and all that is wrong with them."""

from __future__ import annotations

import json

import maxtext_configs
import pytest
from test_overrides import NODES, SFT, TINY

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.sweep_plan import plan_sweep, sweep_text

OPTIONS = {"training_gpus_per_node": 1, "container_engine": "none", "training_megatron_root": "/m"}


def swept(matrix, text=TINY, source="config.json", nodes=NODES, unreadable=None, **options):
    return plan_sweep(text, source, {**OPTIONS, **options}, matrix, nodes, lambda cell: f"s-{cell}", unreadable)


def test_each_cell_has_the_plan_of_a_usual_run():
    sweep = swept({"micro_batch_size": [2, 4]}, training_overrides={"training_iterations": 7})
    assert sweep["faults"] == []
    for cell, size in zip(sweep["cells"], (2, 4), strict=True):
        assert cell["plan"]["run_id"] == f"s-micro_batch_size_{size}"
        assert cell["plan"]["parameters"]["micro_batch_size"] == size
        assert cell["plan"]["parameters"]["iterations"] == 7
        assert cell["plan"]["overrides"] == {"training_iterations": 7, "micro_batch_size": size}


def test_all_faults_of_all_cells_are_told_each_once_with_its_cells():
    sweep = swept({"micro_batch_size": [2, 3, 5], "training_iterations": [10, "no"]}, training_gpus_per_node="x")
    text = sweep_text("s", sweep, {})
    by_key = {fault["key"]: fault for fault in sweep["faults"]}
    assert by_key["config.training_iterations"]["cells"] == [
        f"micro_batch_size_{size}-training_iterations_no" for size in (2, 3, 5)
    ]
    assert len(by_key["training_gpus_per_node"]["cells"]) == 6
    assert "In every cell: " in text
    assert text.count("training_gpus_per_node = x") == 1


@pytest.mark.parametrize("rehearsal", [False, True])
def test_a_value_that_makes_the_same_plan_as_another_is_a_fault(rehearsal):
    # Without a container, its shared memory has no size; a batch size of 4 is one, in a rehearsal as well.
    matrix = {"config.shm_size": ["1G", "2G", "3G"], "micro_batch_size": [2, 4]}
    faults = swept(matrix, training_rehearsal=rehearsal)["faults"]
    key = 'training_matrix["config.shm_size"]'
    assert [(fault["key"], fault["value"], fault["cells"]) for fault in faults] == [(key, "2G", []), (key, "3G", [])]


def test_a_value_that_changes_the_plan_of_one_cell_is_no_fault():
    matrix = {"micro_batch_size": [2, 4], "training_iterations": [7, 8]}
    assert swept(matrix)["faults"] == []


def test_a_config_that_cannot_be_read_is_told_once():
    (fault,) = swept({"a": [1, 2]}, unreadable="No such file or directory")["faults"]
    assert fault["key"] == "training_config"
    (fault,) = swept({"a": [1, 2]}, text="{")["faults"]
    assert "not valid JSON" in fault["message"]


def test_the_text_says_of_each_cell_what_is_to_be_done():
    sweep = swept({"micro_batch_size": [2, 4]})
    told = {"micro_batch_size_2": "will run", "micro_batch_size_4": "has run already, as s-micro_batch_size_4"}
    assert sweep_text("s", sweep, told).splitlines()[:3] == [
        "sweep s: 2 cells of config.json",
        "  micro_batch_size_2  will run",
        "  micro_batch_size_4  has run already, as s-micro_batch_size_4",
    ]
    rehearsed = swept({"micro_batch_size": [2, 4]}, training_rehearsal=True)
    assert sweep_text("s", rehearsed, told).splitlines()[0] == "sweep s: 2 cells, each a rehearsal, of config.json"


def test_the_blocks_of_a_cvs_config_become_cells_and_no_warning():
    data = json.loads(TINY)
    data["sweep"] = {
        "combinations": {
            "one": {"global_batch_size": "8", "micro_batch_size": "2", "precision": "BF16"},
            "other": {"global_batch_size": "8", "micro_batch_size": "4", "precision": "MXFP4"},
        }
    }
    sweep = swept({}, json.dumps(data))
    assert [cell["plan"]["parameters"]["global_batch_size"] for cell in sweep["cells"] if cell["plan"]["nodes"]] == [8]
    (fault,) = sweep["faults"]
    assert (fault["cells"], fault["value"]) == (["other"], "MXFP4")
    assert sweep["warnings"] == []


@pytest.mark.parametrize(
    ("text", "source", "matrix", "options"),
    [
        (json.dumps(maxtext_configs.filled()), "m.json", {"max_target_length": [4096, 8192]}, {}),
        (SFT, "sft.yaml", {"trainer.max_steps": [10, 20]}, {"training_gpus_per_node": 32}),
    ],
)
def test_the_other_frameworks_sweep_over_their_own_keys(text, source, matrix, options):
    options = {"training_gpus_per_node": 8, **options}
    nodes = maxtext_configs.nodes(2) if source == "m.json" else NODES
    sweep = swept(matrix, text, source, nodes, container_engine="auto" if source == "m.json" else "none", **options)
    assert sweep["faults"] == []
    files = [cell["plan"]["nodes"][0]["files"] for cell in sweep["cells"]]
    assert files[0] != files[1]
