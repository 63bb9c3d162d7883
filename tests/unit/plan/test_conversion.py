# SPDX-License-Identifier: GPL-3.0-or-later
"""A CVS config for Megatron-LM as an experiment of Primus: planned, it has the same sizes."""

from __future__ import annotations

import json
import typing as t

import pytest
import yaml
from cvs_configs import MEGATRON, example
from training_configs import DEEPSEEK, DISTRIBUTED, SINGLE, filled, nodes

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.conversion import (
    Conversion,
    convert,
    was_made_here,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan

SIZES = (
    *("nnodes", "precision", "global_batch_size", "micro_batch_size", "sequence_length", "tensor_parallelism"),
    *("pipeline_parallelism", "data_parallelism", "iterations"),
)
CHOSEN = {"training_model": "llama3_1_8b", "training_gpu": "mi300x"}
BRANCH = "model_params/multi_node/llama3_1_8b/mi300x"


def made(config: dict[str, t.Any] | str, hosts: int = 4, path: str = "", **options: t.Any) -> Conversion:
    text = config if isinstance(config, str) else json.dumps(config)
    result = convert("primus", path, text, "mine.json", options or CHOSEN, nodes(hosts), None)
    assert isinstance(result, Conversion), result
    return result


def values_of(conversion: Conversion) -> tuple[dict[str, t.Any], dict[str, t.Any]]:
    """Return the overrides of an experiment, and how it is run."""
    values = yaml.safe_load(conversion.text)
    return values["modules"]["pre_trainer"]["overrides"], values["trainops"]


def both_planned(config: dict[str, t.Any] | str, hosts: int = 4, **options: t.Any) -> list[dict[str, t.Any]]:
    """Return the plan of a config, and that of the experiment made of it."""
    text = config if isinstance(config, str) else json.dumps(config)
    options = options or CHOSEN
    own = make_plan(text, "mine.json", options, nodes(hosts), "now")
    of_primus = {name: value for name, value in options.items() if name in ("training_gpu", "training_mode")}
    other = make_plan(
        made(config, hosts, **options).text,
        "mine.primus.yaml",
        {"training_image": "rocm/primus:v26.5", **of_primus},
        nodes(hosts),
        "now",
    )
    assert own["faults"] == other["faults"] == []
    return [own, other]


@pytest.mark.parametrize(
    ("config", "hosts", "options"),
    [
        (filled(DISTRIBUTED), 4, CHOSEN),
        (filled(DISTRIBUTED), 4, {"training_model": "llama3_1_70b", "training_gpu": "mi325"}),
        (filled(DISTRIBUTED, {f"{BRANCH}/tensor_parallelism": "8", f"{BRANCH}/precision": "TE_BF16"}), 4, CHOSEN),
        (filled(DISTRIBUTED, {f"{BRANCH}/pipeline_parallelism": "2", f"{BRANCH}/recompute": "1"}), 4, CHOSEN),
        (filled(SINGLE, {"config/nnodes": "2"}), 2, {**CHOSEN, "training_mode": "single_node"}),
        (
            filled(DEEPSEEK, {"config/nnodes": "1"}),
            1,
            {"training_model": "deepseek_v2_lite", "training_gpu": "mi300x", "training_mode": "single_node"},
        ),
    ],
)
def test_the_experiment_is_planned_to_the_same_sizes(
    config: dict[str, t.Any], hosts: int, options: dict[str, t.Any]
) -> None:
    own, other = both_planned(config, hosts, **options)
    assert other["framework"] == "primus"
    assert [other["parameters"].get(size) for size in SIZES] == [own["parameters"].get(size) for size in SIZES]
    for name in ("tokens_per_step_per_gpu", "expected"):
        assert other[name] == own[name]


def test_a_config_in_a_later_format_of_cvs_is_converted_too() -> None:
    config = json.dumps(example(MEGATRON))
    own, other = both_planned(config, 2, training_gpu="mi325x", training_record_only=True)
    assert [other["parameters"].get(size) for size in SIZES] == [own["parameters"].get(size) for size in SIZES]


def test_how_to_run_is_taken_over_for_any_user_but_not_the_image() -> None:
    conversion = made(filled(DISTRIBUTED))
    overrides, run = values_of(conversion)
    assert run["log_dir"] == "/home/{user-id}/LOG_DIR"
    assert run["hf_token_file"] == "/home/{user-id}/.hf_token"
    assert run["container_config"]["env_dict"]["NCCL_SOCKET_IFNAME"] == "ens51f1np1"
    assert "container_image" not in run
    assert any("rocm/megatron-lm" in sentence for sentence in conversion.left_out)
    assert any("/workspace/Megatron-LM/output" in sentence for sentence in conversion.left_out)
    assert overrides["tokenizer_model"] == "NousResearch/Meta-Llama-3-8B"
    assert {"NNODES", "TP", "MASTER_ADDR", "HF_TOKEN_PATH"}.isdisjoint(run["container_config"]["env_dict"])
    assert run["result_dict"] == {"tflops_per_gpu": 610.0, "tokens_per_sec_per_gpu": 12000.0}


def test_options_of_the_scripts_become_keys_or_are_named() -> None:
    changes = {f"{BRANCH}/{key}": value for key, value in {"fsdp": "1", "gemm_tuning": "0", "recompute": "1"}.items()}
    conversion = made(filled(DISTRIBUTED, changes))
    overrides, _run = values_of(conversion)
    assert (overrides["use_torch_fsdp2"], overrides["use_distributed_optimizer"]) == (True, False)
    assert (overrides["recompute_granularity"], overrides["recompute_num_layers"]) == ("full", 32)
    assert overrides["fp8"] == "hybrid"
    assert any(sentence.startswith("GEMM_TUNING=0") for sentence in conversion.left_out)
    assert all(f"# - {sentence}" in conversion.text for sentence in conversion.left_out)


def test_a_variable_that_primus_cannot_read_is_named() -> None:
    conversion = made(filled(DISTRIBUTED, {"config/container_config/env_dict": {"SAVE_INTERVAL": "foo"}}))
    assert "save_interval" not in values_of(conversion)[0]
    assert any(sentence.startswith("SAVE_INTERVAL=foo") for sentence in conversion.left_out)


def test_overrides_are_in_the_file() -> None:
    conversion = made(filled(DISTRIBUTED), **CHOSEN, training_overrides={"batch_size": 256})
    assert values_of(conversion)[0]["global_batch_size"] == 256
    assert any("training_overrides" in sentence for sentence in conversion.left_out)


def test_the_name_of_the_file_is_that_of_the_config_unless_one_is_given() -> None:
    assert made(filled(DISTRIBUTED)).path == "mine.primus.yaml"
    assert made(filled(DISTRIBUTED), path="/x/y.yaml").path == "/x/y.yaml"
    assert was_made_here(made(filled(DISTRIBUTED)).text)
    assert not was_made_here("work_group: mine\n")


def test_a_config_with_faults_is_not_converted_as_its_plan_reports_them() -> None:
    text = json.dumps(filled(DISTRIBUTED, {"config/nnodes": "many"}))
    assert convert("primus", "", text, "mine.json", CHOSEN, nodes(4), None) is None


@pytest.mark.parametrize(
    ("name", "text", "options", "said"),
    [
        ("nemo", "{}", {}, "Choose one of: primus"),
        (
            "primus",
            'recipe: llama3_8b_pretrain_config\noverrides: {"train.train_iters": 5}\n',
            {"training_image": "i"},
            "cannot be written as Primus' experiment file",
        ),
    ],
)
def test_what_cannot_be_converted_is_one_fault(name: str, text: str, options: dict[str, t.Any], said: str) -> None:
    fault = convert(name, "", text, "mine.yaml", options, nodes(2), None)
    assert isinstance(fault, dict)
    assert fault["key"] == "training_convert"
    assert said in f"{fault['message']} {fault['remedy']}"
