# SPDX-License-Identifier: GPL-3.0-or-later
"""The matrices that a training multiplies, for the tests of its nodes."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.training import product_of

WORK = {"micro_batch_size": 4, "sequence_length": 8192, "hidden_size": 8192, "feed_forward_size": 28672}


def product(parameters: dict[str, t.Any], **work: t.Any) -> list[int]:
    return product_of(t.cast("t.Any", {"workload": {**WORK, **work}, "parameters": parameters}))


def test_the_tokens_of_a_micro_batch_meet_the_weights_of_one_gpu() -> None:
    assert product({"tensor_parallelism": 8}) == [32768, 8192, 3584]
    assert product({"tensor_parallelism": 1, "context_parallelism": 2}, micro_batch_size=1) == [4096, 8192, 28672]
    # An unknown size is none that a GPU shares.
    assert product({"tensor_parallelism": None}, micro_batch_size=1.0) == [8192, 8192, 28672]


def test_many_tokens_are_measured_with_fewer() -> None:
    assert product({"tensor_parallelism": 1}, micro_batch_size=64)[0] == 32768


@pytest.mark.parametrize("unknown", WORK)
def test_without_one_of_the_sizes_there_is_no_product(unknown: str) -> None:
    assert product({"tensor_parallelism": 1}, **{unknown: None}) == []


def test_without_a_training_there_is_no_product() -> None:
    assert product_of(None) == []
    assert product_of(t.cast("t.Any", {"workload": None, "parameters": {}})) == []
