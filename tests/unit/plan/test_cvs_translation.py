# SPDX-License-Identifier: GPL-3.0-or-later
"""How the keys of a later shape of CVS move to the first: which of two counts, and what a bare key means."""

from __future__ import annotations

import typing as t

import pytest
from cvs_configs import MAXTEXT, MEGATRON, OF_TODAY, TORCHTITAN, example, planned
from training_configs import REMOVED, nodes


def env_of(name: str, changes: dict[str, t.Any], **options: t.Any) -> dict[str, str]:
    plan = planned(example(name, changes), training_record_only=True, **options)
    assert plan["faults"] == []
    return dict(plan["nodes"][0]["env"])


def test_of_two_keys_for_one_value_the_one_of_cvs_counts_and_the_other_is_a_warning() -> None:
    both = {"config/nccl_ib_hca": "mlx5_0,mlx5_1", "config/nccl_ib_hca_list": "mlx5_2,mlx5_3"}
    plan = planned(example(MEGATRON, both), training_record_only=True)
    assert plan["nodes"][0]["env"]["NCCL_IB_HCA"] == "mlx5_0,mlx5_1"
    found = [warning for warning in plan["warnings"] if warning["key"].startswith("config.nccl_ib_hca")]
    assert [(warning["key"], warning["value"]) for warning in found] == [("config.nccl_ib_hca_list", "mlx5_2,mlx5_3")]
    same = planned(example(MEGATRON, {**both, "config/nccl_ib_hca_list": "mlx5_0,mlx5_1"}), training_record_only=True)
    assert not [warning for warning in same["warnings"] if warning["key"].startswith("config.nccl_ib_hca")]


def test_a_variable_goes_before_the_key_that_stands_for_it() -> None:
    assert env_of(MAXTEXT, {"training/env_vars/NCCL_IB_GID_INDEX": "1"})["NCCL_IB_GID_INDEX"] == "1"
    assert env_of(MAXTEXT, {"training/env_vars/JAX_COORDINATOR_PORT": "4321"})["JAX_COORDINATOR_PORT"] == "4321"


@pytest.mark.parametrize("name", [MEGATRON, MAXTEXT, OF_TODAY])
def test_an_object_that_is_none_is_a_fault_where_the_file_has_it(name: str) -> None:
    path = "training/env_vars" if name == MAXTEXT else "container/env"
    plan = planned(example(name, {path: "NCCL_DEBUG=INFO"}), training_record_only=True)
    assert path.replace("/", ".") in {fault["key"] for fault in plan["faults"]}


def test_a_key_that_moved_is_overridden_by_either_name() -> None:
    for name in ("ib_gid_index", "nccl_ib_gid_index"):
        assert env_of(MAXTEXT, {}, training_overrides={name: 1})["NCCL_IB_GID_INDEX"] == "1"
    for name in ("NCCL_DEBUG", "nccl_debug"):
        assert env_of(OF_TODAY, {}, training_overrides={name: "INFO"})["NCCL_DEBUG"] == "INFO"
    for config in (MEGATRON, OF_TODAY):
        for name in ("global_batch_size", "batch_size"):
            plan = planned(example(config), training_record_only=True, training_overrides={name: 512})
            assert plan["parameters"]["global_batch_size"] == 512


@pytest.mark.parametrize("name", [MEGATRON, OF_TODAY])
def test_a_wrong_name_of_a_model_is_the_only_fault(name: str) -> None:
    parameters = "model_params" if name == MEGATRON else "train_params"
    for value in (REMOVED, "<changeme>", 7, []):
        plan = planned(example(name, {f"{parameters}/model_name": value}), training_record_only=True)
        assert [fault["key"] for fault in plan["faults"]] == [f"{parameters}.model_name"]


def test_the_name_of_a_model_says_what_the_file_leaves_out() -> None:
    changes = {"model_params/hf_model_name": REMOVED}
    plan = planned(example(TORCHTITAN, changes), nodes(4), training_record_only=True)
    assert plan["faults"] == []
    assert "meta-llama/Llama-3.3-70B-Instruct" in plan["nodes"][0]["argv"]
