# SPDX-License-Identifier: GPL-3.0-or-later
"""The cells of a sweep, from a matrix and from the blocks of CVS."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.dialect import CvsFile
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.format import DIALECT_OF
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.sweep_blocks import without_blocks
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.known import FORMATS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.sweep import cells_of


def file_of(data):
    trainer = "rocm_scripts" if "sweep" in (data or {}) else "maxtext"
    return FORMATS["cvs1"], CvsFile(data or {}, DIALECT_OF[trainer])


def cells(matrix=None, data=None):
    findings = Findings()
    found = cells_of(matrix or {}, *file_of(data), findings)
    assert findings.faults == []
    return {cell.name: cell.values for cell in found}


def faults(matrix=None, data=None):
    findings = Findings()
    cells_of(matrix or {}, *file_of(data), findings)
    return {fault["key"]: f"{fault['message']} {fault['remedy']}" for fault in findings.faults}


def test_a_matrix_is_every_combination_but_the_excluded_ones():
    matrix = {"micro_batch_size": [1, 2], "config.precision": ["TE_FP8", "TE_BF16"]}
    assert len(cells(matrix)) == 4
    matrix["exclude"] = [{"micro_batch_size": "2", "config.precision": "TE_FP8"}]
    assert cells(matrix) == {
        "micro_batch_size_1-precision_TE_FP8": {"micro_batch_size": 1, "config.precision": "TE_FP8"},
        "micro_batch_size_1-precision_TE_BF16": {"micro_batch_size": 1, "config.precision": "TE_BF16"},
        "micro_batch_size_2-precision_TE_BF16": {"micro_batch_size": 2, "config.precision": "TE_BF16"},
    }


def test_a_part_of_a_cell_excludes_all_that_have_it():
    assert list(cells({"a": [1, 2], "b": [1, 2, 3], "exclude": [{"a": 1}]})) == ["a_2-b_1", "a_2-b_2", "a_2-b_3"]


def test_a_cell_keeps_its_name_when_the_matrix_grows():
    assert cells({"a": [1]}).items() <= cells({"a": [0, 1, 2]}).items()


def test_names_are_short_and_fit_folders_and_no_two_are_the_same():
    found = cells({"x.size": [1], "y.size": ["/data/" + "long" * 30, "/data/" + "long" * 40], "z": [True, None]})
    assert len(found) == 4
    assert all(len(name) <= 60 and name.replace("_", "").replace("-", "").replace(".", "").isalnum() for name in found)


@pytest.mark.parametrize(
    ("matrix", "key", "told"),
    [
        ("a", "training_matrix", "It is 'a', not an object."),
        ({"exclude": []}, "training_matrix", "It has no key to sweep over."),
        ({"a": 3}, "training_matrix.a", "It is 3, not a list of values."),
        ({"a": []}, "training_matrix.a", "not a list of values."),
        ({"a": [1, "1"]}, "training_matrix.a", "A value is listed more than once."),
        ({"a": [1], "exclude": {"a": 1}}, "training_matrix.exclude", "not a list of cells."),
        ({"a": [1], "exclude": ["a"]}, "training_matrix.exclude[0]", "not a part of a cell."),
        ({"batch": [1], "exclude": [{"bach": 1}]}, "training_matrix.exclude[0].bach", "Did you mean batch?"),
        (
            {"a": [1, 2], "exclude": [{"a": 3}]},
            "training_matrix.exclude[0].a",
            "does not have this value. It has 1, 2.",
        ),
        ({"a": [1], "exclude": [{"a": 1}]}, "training_matrix.exclude", "It excludes every cell."),
        ({}, "training_matrix", "There is nothing to sweep over"),
    ],
)
def test_what_is_wrong_with_a_matrix_is_named(matrix, key, told):
    assert told in faults(matrix)[key]


def test_all_that_is_wrong_is_told_at_once():
    assert len(faults({"a": 3, "b": [], "exclude": [{"c": 1}]})) == 3


MEGATRON = {
    "sweep": {
        "combinations": {
            "fp8 cell": {
                "name": "llama_mbs4_FP8",
                "global_batch_size": "128",
                "micro_batch_size": "4",
                "precision": "FP8",
            },
            "bf16": {"name": "x", "global_batch_size": "64", "micro_batch_size": "2", "precision": "BF16"},
            "mxfp4": {"micro_batch_size": "2", "precision": "MXFP4"},
        },
        "runs": ["fp8 cell", "bf16"],
    }
}


def test_the_combinations_of_megatron_are_read_as_they_are():
    assert cells(data=MEGATRON) == {
        "fp8_cell": {"batch_size": "128", "micro_batch_size": "4", "precision": "TE_FP8"},
        "bf16": {"batch_size": "64", "micro_batch_size": "2", "precision": "TE_BF16"},
    }


@pytest.mark.parametrize(
    "sweeps",
    [
        {"B5": {"per_device_batch_size": 5, "quantization": ""}, "B6": {"per_device_batch_size": 6}},
        [
            {"name": "B5", "per_device_batch_size": 5, "quantization": ""},
            {"name": "B6", "maxtext_overrides": {"per_device_batch_size": 6}},
        ],
    ],
)
def test_the_sweeps_of_maxtext_are_read_as_they_are(sweeps):
    found = cells(data={"sweeps": sweeps})
    assert found == {"B5": {"per_device_batch_size": 5, "quantization": ""}, "B6": {"per_device_batch_size": 6}}
    assert list(cells(data={"sweeps": sweeps, "runs": ["B6"]})) == ["B6"]


def test_a_matrix_goes_before_the_blocks_of_the_config():
    assert list(cells({"a": [1]}, MEGATRON)) == ["a_1"]


@pytest.mark.parametrize(
    ("data", "key"),
    [
        ({"sweep": 3}, "sweep"),
        ({"sweep": {"combinations": {}}}, "sweep.combinations"),
        ({"sweep": {"combinations": {"a": {}}, "runs": ["b"]}}, "sweep.runs[0]"),
        ({"sweeps": {"a": {}}, "runs": "a"}, "runs"),
        ({"sweeps": {"a": {}}, "runs": []}, "runs"),
        ({"sweeps": {"a": {}}, "runs": [["a"]]}, "runs[0]"),
        ({"sweeps": {"a": {}, "b": 3}}, "sweeps.b"),
        ({"sweeps": "a"}, "sweeps"),
        ({"sweeps": []}, "sweeps"),
        ({"sweeps": [{"name": "a"}, "b"]}, "sweeps[1]"),
        ({"sweeps": [{"name": ["a"]}]}, "sweeps[0].name"),
        ({"sweeps": [{"name": "a"}, {"name": "a"}]}, "sweeps[1].name"),
    ],
)
def test_what_is_wrong_with_a_block_is_named(data, key):
    assert key in faults(data=data)


@pytest.mark.parametrize("names", [("a b", "a_b"), ("x" * 61, "x" * 62), ("??", "!!"), ("a", "a-2")])
def test_no_two_cells_of_a_block_are_one_run(names):
    found = cells(data={"sweeps": {name: {"batch": place} for place, name in enumerate(names)}})
    assert [values["batch"] for values in found.values()] == [0, 1]
    # A further attempt at the cell a is the run a-2.
    assert all(0 < len(name) <= 60 and name[0] not in "-._" and name != "a-2" for name in found)


def test_a_single_run_is_told_that_the_blocks_have_no_effect():
    findings = Findings()
    assert without_blocks({"config": {}, **MEGATRON}, findings) == {"config": {}}
    assert [warning["key"] for warning in findings.warnings] == ["sweep"]
