from __future__ import annotations

import typing as t

import pytest
from maxtext_configs import filled as filled_maxtext
from maxtext_configs import planned as planned_maxtext
from training_configs import DISTRIBUTED, filled, keys, only, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.environment_variables import known_variables
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.words import misspelled

PATH = "config.container_config.env_dict"


def with_variables(variables: dict[str, t.Any]) -> t.Any:
    return planned(filled(DISTRIBUTED, {"config/container_config/env_dict": variables}))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("NCCL_IB_TC", "banana", "not a whole number"),
        ("NCCL_IB_TC", "٤", "not a whole number"),
        ("NCCL_IB_TC", "256", "too large"),
        ("NCCL_IB_SL", "-2", "too small"),
        ("NCCL_BUFFSIZE", "4M", "not a whole number"),
        ("XLA_PYTHON_CLIENT_MEM_FRACTION", "97.5", "too large"),
        ("XLA_PYTHON_CLIENT_PREALLOCATE", "maybe", "neither true nor false"),
        ("NCCL_PROTO", "Simpel", "not a word that it accepts"),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "7", "too large"),
    ],
)
def test_a_value_that_a_library_cannot_read_is_a_fault_at_its_variable(name: str, value: str, words: str) -> None:
    fault = only(with_variables({name: value})["faults"])
    assert (fault["key"], fault["value"]) == (f"{PATH}.{name}", value)
    assert words in fault["message"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_IB_TC", "0x68"),
        ("NCCL_IB_TC", ""),
        ("NCCL_IB_QPS_PER_CONNECTION", " 4 "),
        ("NCCL_PROTO", "^LL128"),
        ("NCCL_PROTO", "simple,ll"),
        ("NCCL_ALGO", "allreduce:tree,ring;broadcast:ring"),
        ("NCCL_P2P_LEVEL", "SYS"),
        ("NCCL_DEBUG_SUBSYS", "INIT,NET"),
        ("XLA_PYTHON_CLIENT_MEM_FRACTION", ".9"),
        ("TORCH_NCCL_HIGH_PRIORITY", "1"),
        ("OMP_NUM_THREADS", "4,2"),
        ("NCCL_NET_PLUGIN", "librccl-anp.so"),
        ("NVTE_FLASH_ATTN", "0"),
    ],
)
def test_a_value_that_a_library_reads_says_nothing(name: str, value: str) -> None:
    plan = with_variables({name: value})
    assert (plan["faults"], plan["warnings"]) == ([], [])


def test_a_word_like_no_other_is_a_warning_as_newer_libraries_may_know_it() -> None:
    plan = with_variables({"NCCL_ALGO": "Quux"})
    assert plan["faults"] == []
    assert only(plan["warnings"])["key"] == f"{PATH}.NCCL_ALGO"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("NCCL_IB_GID_INDX", "NCCL_IB_GID_INDEX"),
        ("NCLC_DEBUG", "NCCL_DEBUG"),
        ("NCCL_MAX_P2P_CHANNELS", "NCCL_MAX_P2P_NCHANNELS"),
        ("EVAL_INTERVL", "EVAL_INTERVAL"),
    ],
)
def test_a_misspelled_variable_is_a_warning_with_the_name_that_is_meant(name: str, meant: str) -> None:
    plan = with_variables({name: "3"})
    assert plan["faults"] == []
    warning = only(plan["warnings"])
    assert (warning["key"], warning["remedy"]) == (f"{PATH}.{name}", f"Did you mean {meant}?")


def test_the_variables_of_jax_are_known_as_well() -> None:
    changes = {"config/container_config/env_dict": {"JAX_COORDINATOR_POR": "12345"}}
    warnings = planned_maxtext(filled_maxtext(changes=changes))["warnings"]
    assert "Did you mean JAX_COORDINATOR_PORT?" in [warning["remedy"] for warning in warnings]


@pytest.mark.parametrize("name", ["MY_OWN_VARIABLE", "NVTE_CK_USES_BWD_V4", "MBS2", "FOO"])
def test_a_variable_that_resembles_none_says_nothing(name: str) -> None:
    assert with_variables({name: "1"})["warnings"] == []


def test_no_two_known_variables_of_one_kind_are_taken_for_a_typo_of_each_other() -> None:
    known = known_variables()
    assert len(known) > 500
    assert {variable.reader for variable in known.values()} >= {"NCCL", "RCCL", "Gloo", "XLA", "PyTorch"}
    assert misspelled("NCCL_IB_HCA", known) is None or "NCCL_IB_HCA" in known


def test_rdma_that_is_off_beside_rdma_devices_is_a_warning() -> None:
    plan = with_variables({"NCCL_IB_DISABLE": "1"})
    assert plan["faults"] == []
    warning = only(plan["warnings"])
    assert warning["key"] == "NCCL_IB_DISABLE"
    assert "8 RDMA devices" in warning["message"]
    assert keys(with_variables({"NCCL_IB_DISABLE": "0"})["warnings"]) == []
