# SPDX-License-Identifier: GPL-3.0-or-later
"""The workload of a plan: the work of a step, and the peak that it is compared with."""

from __future__ import annotations

import json
import typing as t

import maxtext_configs
import pytest
from nxdt_configs import DPO, HF, MEGATRON, REMOVED, planned_nxdt
from training_configs import BRANCH, DISTRIBUTED, TINY, example, filled, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.peaks import (
    PEAK_TFLOPS,
    gpu_in,
    peak_tflops,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node


def test_the_workload_of_megatron_is_that_of_one_job_over_all_nodes() -> None:
    workload = planned(filled(DISTRIBUTED))["workload"]
    assert workload["gpus"] == 32
    assert workload["tokens_per_step"] == workload["global_batch_size"] * workload["sequence_length"]
    assert (workload["precision"], workload["peak_tflops_per_gpu"], workload["peak_reason"]) == ("fp8", 2614.9, None)
    assert workload["parameters"] == pytest.approx(8.03e9, rel=0.001)
    assert (workload["hidden_size"], workload["feed_forward_size"]) == (4096, 14336)
    assert (workload["model_flops_per_token"], workload["model_flops_reason"]) == (
        pytest.approx(51.9e9, rel=0.01),
        None,
    )
    assert "causal attention" in workload["formula"]


def test_megatron_pads_the_vocabulary_for_the_tensor_parallelism() -> None:
    one, eight = (
        planned(filled(DISTRIBUTED, {f"{BRANCH}/tensor_parallelism": size}))["workload"]["parameters"]
        for size in ("1", "8")
    )
    assert eight - one == 2 * 4096 * (129024 - 128256)


def test_a_model_of_unknown_dimensions_is_told_in_words() -> None:
    options = {
        "training_model": "",
        "training_gpu": "",
        "training_gpus_per_node": 1,
        "container_engine": "none",
        "training_megatron_root": "/collection/trainer",
    }
    nodes = [Node(name, name, "me", local=True) for name in ("node0", "node1")]
    workload = planned(json.loads(TINY.read_text("utf-8")), nodes, **options)["workload"]
    assert (workload["model_flops_per_token"], workload["parameters"]) == (None, None)
    assert workload["model_flops_reason"] == (
        "The dimensions of a model of size tiny of examples/llama/train_llama3.sh are not known."
    )
    assert (workload["peak_tflops_per_gpu"], workload["peak_reason"]) == (None, "The peak of cpu is unknown.")


def test_the_workload_of_maxtext_goes_by_its_preset() -> None:
    workload = maxtext_configs.planned(maxtext_configs.filled())["workload"]
    assert workload["parameters"] == pytest.approx(70.6e9, rel=0.001)
    assert workload["gpus"] == 16
    assert workload["peak_tflops_per_gpu"] == PEAK_TFLOPS["mi300x"][workload["precision"]]


def test_a_model_of_maxtext_that_is_scaled_has_dimensions_that_nobody_knows() -> None:
    key = f"{maxtext_configs.BRANCH}/global_parameter_scale"
    assert maxtext_configs.planned(maxtext_configs.filled(changes={key: 1}))["workload"]["layers"] == 80
    scaled = maxtext_configs.planned(maxtext_configs.filled(changes={key: 4}))["workload"]
    assert (scaled["layers"], scaled["hidden_size"]) == (None, None)
    assert scaled["model_flops_reason"] == ("The dimensions of a model scaled by global_parameter_scale are not known.")


@pytest.mark.parametrize(
    ("quantization", "number_format"),
    [
        ("", "bf16"),
        ("te_no_quant", "bf16"),
        *((name, "fp8") for name in ("fp8", "nanoo_fp8", "fp8_nanoo", "fp8_e4m3", "te_mxfp8")),
        *((name, "fp4") for name in ("fp4", "te_nvfp4", "te_nvfp4_no_rht")),
    ],
)
def test_every_quantization_of_maxtext_has_the_peak_of_its_number_format(quantization: str, number_format: str) -> None:
    key, name = f"{maxtext_configs.BRANCH}/quantization", f"{maxtext_configs.BRANCH}/precision"
    changes = {key: quantization, name: f"TE_{number_format.upper()}"}
    plan = maxtext_configs.planned(maxtext_configs.filled(changes=changes))
    assert plan["workload"]["precision"] == number_format
    assert plan["workload"]["peak_tflops_per_gpu"] == PEAK_TFLOPS["mi300x"].get(number_format)
    assert not [warning for warning in plan["warnings"] if warning["key"].endswith(".precision")]


def test_a_table_that_is_the_output_as_well_is_counted_once() -> None:
    sizes = {"model_name": "default", "base_emb_dim": 2048, "vocab_size": 32000}
    branch = {f"{maxtext_configs.BRANCH}/{key}": value for key, value in sizes.items()}
    maxtext = [
        maxtext_configs.planned(maxtext_configs.filled(changes={**branch, **more}))["workload"]
        for more in ({}, {f"{maxtext_configs.BRANCH}/logits_via_embedding": "True"})
    ]
    key = "model.share_embeddings_and_output_weights"
    nxdt = [planned_nxdt(MEGATRON, {key: shared})["workload"] for shared in (False, True)]
    for (two, one), table in ((maxtext, 2048 * 32000), (nxdt, 4096 * 32000)):
        assert two["parameters"] - one["parameters"] == table
        assert two["model_flops_per_token"] == one["model_flops_per_token"]


@pytest.mark.parametrize(("given", "layers"), [(None, 32), ("32", 32), ("4", None)])
def test_a_script_of_the_users_own_may_give_a_known_model_other_layers(given: str | None, layers: int | None) -> None:
    own = {
        "config/training_scripts": {"llama-3": "mine/train.sh"},
        f"{BRANCH}/num_layers": given,
        f"{BRANCH}/num_attention_heads": "32",
    }
    plan = planned(filled(DISTRIBUTED, own), training_megatron_root="/my/Megatron-LM")
    assert plan["faults"] == []
    assert plan["workload"]["layers"] == layers


@pytest.mark.parametrize(("divisible_by", "more"), [(8, 0), (1000, 0), (1001, 32032 - 32000), (REMOVED, 32768 - 32000)])
def test_nxdt_pads_the_vocabulary_for_the_tensor_parallelism(divisible_by: t.Any, more: int) -> None:
    known, padded = (
        planned_nxdt(MEGATRON, {"model.make_vocab_size_divisible_by": value})["workload"]["parameters"]
        for value in (8, divisible_by)
    )
    assert padded - known == 2 * 4096 * more


def test_a_device_of_nxdt_is_a_part_of_a_chip() -> None:
    workload = planned_nxdt(MEGATRON)["workload"]
    assert (workload["precision"], workload["peak_tflops_per_gpu"]) == ("bf16", 95.0)
    assert workload["parameters"] == pytest.approx(6.74e9, rel=0.001)
    assert planned_nxdt(HF)["workload"]["peak_tflops_per_gpu"] == pytest.approx(667 / 4)


def test_hugging_face_models_are_known_by_their_folder_if_the_size_agrees() -> None:
    assert planned_nxdt(HF)["workload"]["parameters"] == pytest.approx(8.03e9, rel=0.001)
    unknown = planned_nxdt(HF, {"model.num_layers": 16})["workload"]
    assert unknown["model_flops_reason"] == "The dimensions of the model are in its config.json, on the nodes."


def test_what_alignment_computes_is_not_guessed() -> None:
    workload = planned_nxdt(DPO)["workload"]
    assert workload["model_flops_per_token"] is None
    assert workload["model_flops_reason"].startswith("Alignment runs a second model")


def test_a_rehearsal_has_the_workload_of_the_embedded_trainer() -> None:
    workload = planned(filled(DISTRIBUTED), training_rehearsal=True)["workload"]
    assert (workload["gpus"], workload["tokens_per_step"]) == (4, 4 * 2 * 32)
    assert workload["model_flops_reason"] == "A rehearsal trains a toy model on the CPU."


def test_a_plan_with_faults_has_no_workload() -> None:
    assert planned(example(DISTRIBUTED))["workload"] is None


@pytest.mark.parametrize(
    ("accelerator", "precision", "peak"),
    [
        ("mi300", "bf16", 1307.4),
        ("MI325X", "fp8", 2614.9),
        ("mi355", "fp4", 10066.3),
        ("H100", "bf16", 989.4),
        ("tpu_v5p", "bf16", 459.0),
        ("tpu-v6e", "bf16", 918.0),
        ("trn1n.32xlarge", "bf16", 190.0),
        ("a100", "fp8", None),
        ("mi30", "bf16", None),
        ("", "bf16", None),
    ],
)
def test_peaks_are_found_however_the_accelerator_is_written(accelerator: str, precision: str, peak: t.Any) -> None:
    assert peak_tflops(accelerator, precision) == peak


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H100 PCIe", "h100pcie"),
        ("NVIDIA H100 NVL", None),
        ("NVIDIA A100-PCIE-40GB", None),
        ("NVIDIA GB200", "gb200"),
        ("AMD Instinct MI300X", "mi300x"),
        ("AMD Instinct MI300A", None),
        ("", None),
    ],
)
def test_a_card_is_not_the_module_of_the_same_name(name: str, gpu: str | None) -> None:
    assert gpu_in(name) == gpu


def test_eight_bits_are_twice_as_fast_as_sixteen_wherever_both_are_known() -> None:
    for name, peaks in PEAK_TFLOPS.items():
        if "fp8" in peaks:
            assert peaks["fp8"] == pytest.approx(2 * peaks["bf16"], rel=0.03), name
