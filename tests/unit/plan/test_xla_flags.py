"""Flags of XLA: types, variables, and duplicates."""

from __future__ import annotations

import typing as t

import pytest
from maxtext_configs import BRANCH, ON_TPU, PATH, TPU_BRANCH, filled, planned, tpu
from training_configs import REMOVED, only

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.xla_flag_sets import FLAG_SETS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.maxtext.xla_flags import (
    LIBTPU,
    XLA,
    as_text,
    checked,
    given_in,
    given_in_text,
)

FUSE = "xla_tpu_enable_async_collective_fusion_fuse_all_gather"
GATHER = "xla_gpu_all_gather_combine_threshold_bytes"


def text_of(flags: dict[str, t.Any], variable: str = XLA) -> str:
    findings = Findings()
    text = as_text(checked(given_in(flags, "f"), variable, findings))
    assert not findings.faults
    return text


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("xla_gpu_enable_cublaslt", "True", "=true"),
        ("xla_gpu_enable_cublaslt", "FALSE", "=false"),
        ("xla_gpu_enable_cublaslt", True, "=true"),
        ("xla_gpu_enable_cublaslt", 0, "=false"),
        (GATHER, "137438953472", "=137438953472"),
        (GATHER, 0, "=0"),
        ("xla_gpu_memory_limit_slop_factor", "80", "=80"),
        ("xla_gpu_enable_command_buffer", "''", "=''"),
        ("xla_gpu_enable_command_buffer", "", "=''"),
        ("xla_gpu_enable_command_buffer", "FUSION,CUBLAS", "=FUSION,CUBLAS"),
        ("xla_disable_hlo_passes", "rematerialization", "=rematerialization"),
        ("xla_dump_to", "/tmp/a b", "='/tmp/a b'"),
    ],
)
def test_values_that_xla_takes(name: str, value: object, text: str) -> None:
    assert text_of({name: value}) == f"--{name}{text}"


def test_tristate_flags_of_tpus() -> None:
    for value, text in (("kauto", "kAuto"), ("True", "true"), (False, "false")):
        assert text_of({FUSE: value}, LIBTPU) == f"--{FUSE}={text}"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("xla_gpu_enable_cublaslt", "maybe", "is not true or false"),
        (GATHER, "-1", "is not a whole number of 0 or more (bytes)"),
        (GATHER, "1e9", "is not a whole number of 0 or more (bytes)"),
        (GATHER, True, "is not a whole number of 0 or more (bytes)"),
        (GATHER, [1], "is not a whole number"),
        ("xla_gpu_enable_command_buffer", "BOGUS", "is not a list of command buffer commands"),
        ("xla_disable_hlo_passes", "a, b", "is not a list of pass names"),
        ("xla_dump_to", "", "is not a path"),
        (FUSE, "true", "does not belong in XLA_FLAGS: XLA aborts on it there"),
        ("xla_enable_async_all_gather", "true", "does not belong in XLA_FLAGS"),
        ("xla_tpu_that_is_new", "true", "does not belong in XLA_FLAGS"),
        ("--xla_gpu_enable_cublaslt", "true", "is not a flag name"),
    ],
)
def test_values_and_places_that_are_wrong(name: str, value: object, reason: str) -> None:
    findings = Findings()
    assert checked(given_in({name: value}, "f"), XLA, findings) == {}
    assert reason in only(findings.as_dict()["faults"])["message"]


def test_a_flag_of_gpus_does_not_belong_to_tpus() -> None:
    findings = Findings()
    checked(given_in({GATHER: 1}, "f"), LIBTPU, findings)
    assert "does not belong in LIBTPU_INIT_ARGS" in findings.faults[0]["message"]


def test_a_flag_that_is_not_known_is_told_with_the_nearest() -> None:
    findings = Findings()
    assert checked(given_in({"xla_gpu_enable_cublaslte": 1}, "f"), XLA, findings) == {"xla_gpu_enable_cublaslte": "1"}
    assert findings.warnings[0]["remedy"].startswith("Did you mean xla_gpu_enable_cublaslt?")
    assert "passed on as is" in findings.warnings[0]["remedy"]


def test_texts_of_scripts_are_read_with_all_their_habits() -> None:
    findings = Findings()
    text = (
        "TPU_MEGACORE=MEGACORE_DENSE\n --xla_tpu_assign_all_reduce_scatter_layout \n --xla_enable_async_all_gather=true"
    )
    flags = checked(given_in_text(text, "f", findings), LIBTPU, findings)
    assert findings == Findings()
    assert as_text(flags) == (
        "TPU_MEGACORE=MEGACORE_DENSE --xla_tpu_assign_all_reduce_scatter_layout=true --xla_enable_async_all_gather=true"
    )


@pytest.mark.parametrize(
    ("text", "reason"), [("/tmp/file", "is not a flag"), ("--xla_dump_to='/a", "quote is not closed")]
)
def test_words_that_are_no_flags(text: str, reason: str) -> None:
    findings = Findings()
    given_in_text(text, "f", findings)
    assert reason in findings.faults[0]["message"]


def test_the_same_flag_in_two_places_of_a_config_is_a_fault() -> None:
    fault = only(planned(filled(changes={"config/xla_flags": {"xla_gpu_autotune_level": "4"}}))["faults"])
    assert fault["key"] == f"{PATH}.xla_flags.xla_gpu_autotune_level"
    assert "is also set in config.xla_flags.xla_gpu_autotune_level" in fault["message"]
    text = {"config/env_vars": {"XLA_FLAGS": "--xla_gpu_autotune_level=4"}}
    assert only(planned(filled(changes=text))["faults"])["key"] == "config.env_vars.XLA_FLAGS"


def test_flags_that_the_jax_of_an_image_does_not_know_are_left_out_and_told() -> None:
    old, new = planned(filled()), planned(filled(changes={"config/container_image": "r/jax-training:maxtext-v26.4"}))
    flags = {name: plan["nodes"][0]["env"]["XLA_FLAGS"] for name, plan in (("old", old), ("new", new))}
    assert ("first_collective" in flags["old"], "graph_level" in flags["old"]) == (False, True)
    assert ("first_collective" in flags["new"], "graph_level" in flags["new"]) == (True, False)
    told = [finding["key"] for finding in new["warnings"] if "is left out" in finding["message"]]
    assert told == [f"{PATH}.xla_flags.xla_gpu_graph_level"]


@pytest.mark.parametrize("name", FLAG_SETS)
def test_a_flag_set_is_right_by_the_rules_for_flags(name: str) -> None:
    findings = Findings()
    given = given_in(FLAG_SETS[name], name)
    variable = XLA if name.startswith("gpu/") else LIBTPU
    assert checked(given, variable, findings) == FLAG_SETS[name]
    assert FLAG_SETS[name]
    assert findings == Findings()


def test_flag_sets_have_the_values_of_their_scripts() -> None:
    assert len(FLAG_SETS) == 43
    assert FLAG_SETS["tpu/v4/22b"] == {"xla_enable_async_all_gather": "true", "TPU_MEGACORE": "MEGACORE_DENSE"}
    assert FLAG_SETS["tpu/v5p/gpt3_175b/v5p_12288"] == FLAG_SETS["tpu/v5p/gpt3_175b/gpt3_175b_base"]
    memory = "xla_tpu_scoped_vmem_limit_kib"
    assert [FLAG_SETS[f"tpu/v6e/{name}"][memory] for name in ("gemma2_9b", "gpt3_175b")] == ["114688", "98304"]
    assert FLAG_SETS["tpu/v5p/32b"][FUSE] == "false"
    assert FLAG_SETS["tpu/v5p/64b"][FUSE] == "true"
    reduce = "xla_gpu_all_reduce_combine_threshold_bytes"
    sizes = [FLAG_SETS[f"gpu/a3/llama_2_7b/{number}vm"][reduce] for number in (1, 2, 4, 8, 16)]
    assert sizes == ["134217728", "67108864", "536870912", "1073741824", "1073741824"]


def test_a_flag_set_is_chosen_by_name_and_own_flags_go_first() -> None:
    changes = {"config/xla_flag_set": "gpu/a3/llama_2_7b/2vm", f"{BRANCH}/xla_flags": {GATHER: "1"}}
    flags = planned(filled(changes=changes))["nodes"][0]["env"]["XLA_FLAGS"].split()
    assert f"--{GATHER}=1" in flags
    assert "--xla_gpu_all_reduce_combine_threshold_bytes=67108864" in flags
    assert sum(flag.startswith(f"--{GATHER}") for flag in flags) == 1


def test_a_flag_set_of_tpus_is_for_tpus() -> None:
    changes = {"config/xla_flag_set": "tpu/v5p/128b"}
    fault = only(planned(filled(changes=changes))["faults"])
    assert "are for TPUs, and hardware is gpu" in fault["message"]
    environment = planned(tpu(changes), 4, **ON_TPU)["nodes"][0]["env"]
    assert "--xla_tpu_megacore_fusion_allow_ags=false" in environment["LIBTPU_INIT_ARGS"].split()
    assert "XLA_FLAGS" not in environment


def test_on_tpus_flags_of_an_object_find_their_variable() -> None:
    flags = {"config/xla_flag_set": REMOVED, f"{TPU_BRANCH}/xla_flags": {FUSE: "kAuto", "xla_dump_to": "/d"}}
    environment = planned(tpu(flags), 4, **ON_TPU)["nodes"][0]["env"]
    assert environment["LIBTPU_INIT_ARGS"] == f"--{FUSE}=kAuto"
    assert environment["XLA_FLAGS"] == "--xla_dump_to=/d"
