"""The memory that a training takes on each GPU, beside what others publish."""

from __future__ import annotations

import typing as t

import pytest
from training_configs import BRANCH, DISTRIBUTED, filled, only, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.known_models import KNOWN_MODELS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.memory import Keeping, estimated

FSDP_8 = {"tensor_parallelism": 1, "pipeline_parallelism": 1}


# docs/performance.md of TorchTitan, tables 1 and 2: Llama 3.1 8B on 8 H100, memory reserved in GiB.
@pytest.mark.parametrize(
    ("micro_batch", "length", "context", "kept", "published"),
    [
        (2, 8192, 1, 0.5, 77.0),
        (1, 32768, 1, 0.0, 83.9),
        (1, 65536, 2, 0.0, 84.2),
        (1, 131072, 4, 0.0, 84.0),
        (1, 262144, 8, 0.0, 84.5),
    ],
)
def test_estimates_are_near_what_is_published(
    micro_batch: int, length: int, context: int, kept: float, published: float
) -> None:
    parameters = {**FSDP_8, "micro_batch_size": micro_batch, "sequence_length": length, "context_parallelism": context}
    found = estimated(KNOWN_MODELS["llama3.1-8b"], t.cast("t.Any", parameters), Keeping(0, 16, 8, kept), narrow=False)
    assert 0.75 * published < found.total < 1.1 * published, found


def memory_warnings(changes: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    plan = planned(filled(DISTRIBUTED, {f"{BRANCH}/{key}": value for key, value in changes.items()}))
    assert plan["faults"] == []
    return [warning for warning in plan["warnings"] if "will not fit" in warning["message"]]


def test_a_micro_batch_that_is_far_too_large_is_a_warning_with_its_numbers() -> None:
    warning = only(memory_warnings({"micro_batch_size": "64", "batch_size": "2048"}))
    assert warning["key"] == BRANCH.replace("/", ".")
    assert "mi300x has 192" in warning["message"]
    assert "micro batch size" in warning["remedy"]


def test_what_fits_says_nothing() -> None:
    assert memory_warnings({}) == []
