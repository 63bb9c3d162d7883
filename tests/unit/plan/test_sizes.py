from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.sizes import ModelDimensions, Sizes, check_sizes

LLAMA_8B = ModelDimensions(layers=32, attention_heads=32, query_groups=8)
FITTING = Sizes(
    nodes=4,
    gpus_per_node=8,
    tensor_parallelism=1,
    pipeline_parallelism=1,
    global_batch_size=128,
    micro_batch_size=2,
    sequence_length=8192,
)
KEYS = {
    "global_batch_size": "batch_size",
    "sequence_length": "sequence_length",
    "tensor_parallelism": "tensor_parallelism",
    "pipeline_parallelism": "pipeline_parallelism",
}


def check(dimensions: ModelDimensions | None = LLAMA_8B, **changes: int | None) -> Findings:
    findings = Findings()
    check_sizes(dataclasses.replace(FITTING, **changes), dimensions, KEYS, findings)
    return findings


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tensor_parallelism": 8, "global_batch_size": 8},
        {"tensor_parallelism": 4, "pipeline_parallelism": 8, "global_batch_size": 2},
        {"nodes": 1, "gpus_per_node": 1, "global_batch_size": 2},
        {"global_batch_size": 64},
    ],
)
def test_sizes_that_divide(changes: dict[str, t.Any]) -> None:
    findings = check(**changes)
    assert (findings.faults, findings.warnings) == ([], [])


@pytest.mark.parametrize(
    ("changes", "key", "value", "message", "remedy"),
    [
        (
            {"tensor_parallelism": 4, "pipeline_parallelism": 16},
            "tensor_parallelism",
            4,
            "The 32 GPUs (4 nodes × 8) cannot be divided into groups of tensor parallelism 4 × pipeline parallelism "
            "16 = 64.",
            "Choose a product that divides 32, or other nodes, or fix training_gpus_per_node.",
        ),
        (
            {"global_batch_size": 100},
            "batch_size",
            100,
            "The global batch size 100 is not a multiple of micro batch size 2 × data parallelism 32 = 64.",
            "Choose 64 or 128, or another micro batch size.",
        ),
        (
            {"global_batch_size": 10},
            "batch_size",
            10,
            "The global batch size 10 is not a multiple of micro batch size 2 × data parallelism 32 = 64.",
            "Choose 64, or another micro batch size.",
        ),
        (
            {"tensor_parallelism": 4, "sequence_length": 1022, "global_batch_size": 16},
            "sequence_length",
            1022,
            "Sequence parallelism cannot divide 1022 tokens among 4 tensor-parallel ranks.",
            "Choose a multiple of 4, or another tensor parallelism.",
        ),
        (
            {"tensor_parallelism": 16, "gpus_per_node": 16, "nodes": 2},
            "tensor_parallelism",
            16,
            "The model's 32 attention heads and 8 query groups cannot be divided among 16 tensor-parallel ranks.",
            "Choose one of 1, 2, 4, 8.",
        ),
        (
            {"pipeline_parallelism": 5, "gpus_per_node": 5},
            "pipeline_parallelism",
            5,
            "The model's 32 layers cannot be divided among 5 pipeline stages.",
            "Choose one of 1, 2, 4, 8, 16, 32.",
        ),
    ],
)
def test_sizes_that_do_not_divide(changes: dict[str, t.Any], key: str, value: int, message: str, remedy: str) -> None:
    found = [(fault["key"], fault["value"], fault["message"], fault["remedy"]) for fault in check(**changes).faults]
    assert found == [(key, value, message, remedy)]


@pytest.mark.parametrize("unknown", ["nodes", "gpus_per_node", "tensor_parallelism", "pipeline_parallelism"])
def test_without_the_data_parallelism_the_micro_batch_still_has_to_divide(unknown: str) -> None:
    changes: dict[str, t.Any] = {unknown: None, "global_batch_size": 129}
    findings = check(**changes)
    assert [fault["message"] for fault in findings.faults] == [
        "The global batch size 129 is not a multiple of micro batch size 2."
    ]


@pytest.mark.parametrize("unknown", [field.name for field in dataclasses.fields(Sizes)])
def test_one_unknown_size_does_not_hide_what_the_others_have_wrong(unknown: str) -> None:
    wrong: dict[str, t.Any] = {
        "tensor_parallelism": 3,
        "pipeline_parallelism": 5,
        "sequence_length": 8191,
        "global_batch_size": 127,
    }
    expected = {
        "tensor_parallelism": {"batch_size", "pipeline_parallelism"},
        "pipeline_parallelism": {"batch_size", "sequence_length", "tensor_parallelism"},
        "sequence_length": {"batch_size", "pipeline_parallelism", "tensor_parallelism"},
        "global_batch_size": {"pipeline_parallelism", "sequence_length", "tensor_parallelism"},
        "micro_batch_size": {"pipeline_parallelism", "sequence_length", "tensor_parallelism"},
    }
    everything = {"batch_size", "pipeline_parallelism", "sequence_length", "tensor_parallelism"}
    found = {fault["key"] for fault in check(**{**wrong, unknown: None}).faults}
    assert found == expected.get(unknown, everything)


def test_without_sequence_parallelism_the_sequence_need_not_divide() -> None:
    sizes = {"tensor_parallelism": 8, "global_batch_size": 8, "sequence_length": 4100}
    assert [fault["key"] for fault in check(**sizes).faults] == ["sequence_length"]
    assert check(**sizes, sequence_parallel=False).faults == []


def test_without_dimensions_the_model_is_not_checked() -> None:
    assert not check(None, pipeline_parallelism=5, gpus_per_node=5).faults


def test_tensor_parallelism_beyond_a_node_is_a_warning() -> None:
    findings = check(ModelDimensions(80, 64, 16), tensor_parallelism=16)
    assert not findings.faults
    [warning] = findings.warnings
    assert warning["key"] == "tensor_parallelism"
    assert "spans more than one node of 8 GPUs" in warning["message"]


def test_tokens_per_step_per_gpu() -> None:
    assert FITTING.tokens_per_step_per_gpu == 128 * 8192 / 32
    assert dataclasses.replace(FITTING, nodes=None).tokens_per_step_per_gpu is None
    assert FITTING.data_parallelism == 32
