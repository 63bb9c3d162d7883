# SPDX-License-Identifier: GPL-3.0-or-later
"""Megatron Bridge's plan: the result of a recipe's name, and the faults and warnings.

The lines of arguments come from scripts/training/README.md of NVIDIA-NeMo/Megatron-Bridge.
"""

from __future__ import annotations

import itertools
import json
import os
import typing as t

import pytest
from bridge_configs import EXAMPLES, FOLDER, LLAMA3, RECIPE, planned, recipe, values_of
from test_make_plan import ANYTHING, check_promises, paths_of, with_value, without
from training_configs import ROOT, keys, nodes, only

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.bridge_yaml.recipe_name import read_name
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import asked_by, make_plan

GOLDEN = ROOT / "tests/data/plans/megatron_bridge"
ADDED = {
    "logger.log_interval=1",
    "logger.log_throughput=true",
    "checkpoint.save=null",
    "checkpoint.load=null",
}


def argv_of(plan: dict[str, t.Any], node: int = 0) -> list[str]:
    assert plan["faults"] == []
    return plan["nodes"][node]["argv"]


def after_script(plan: dict[str, t.Any]) -> list[str]:
    argv = argv_of(plan)
    return argv[argv.index("scripts/training/run_recipe.py") + 1 :]


@pytest.mark.parametrize("name", EXAMPLES)
def test_golden_plans(name: str) -> None:
    plan = planned(values_of(name))
    path = GOLDEN / f"{name}.json"
    assert {seam: choice["name"] for seam, choice in plan.pop("chosen").items()} == {
        "format": "bridge_yaml",
        "trainer": "megatron_bridge",
        "log_grammar": "megatron_bridge",
    }
    if os.environ.get("UPDATE_GOLDEN_PLANS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(plan, indent=2, ensure_ascii=False) + "\n", "utf-8")
    assert plan == json.loads(path.read_text("utf-8"))


def test_every_example_has_its_golden_plan() -> None:
    examples = {path.stem for path in FOLDER.glob("*.yaml")}
    assert {path.stem for path in GOLDEN.iterdir()} == set(EXAMPLES) == examples


def test_each_node_starts_the_entry_point_of_bridge_with_its_rank() -> None:
    plan = planned(training_master_port=4711)
    first, second = (argv_of(plan, node) for node in (0, 1))
    assert first[:3] == ["torchrun", "--nnodes", "2"]
    assert second[second.index("--node_rank") + 1] == "1"
    assert second[second.index("--master_addr") + 1] == "10.0.0.10"
    assert second[second.index("--master_port") + 1] == "4711"
    assert plan["nodes"][0]["working_dir"] == "/opt/Megatron-Bridge"
    assert plan["nodes"][0]["script"] == "scripts/training/run_recipe.py"


def test_a_recipe_becomes_the_arguments_that_bridge_documents() -> None:
    config = recipe(
        "llama32_1b_pretrain_config", {"optimizer.lr": 0.0002, "train.global_batch_size": 8}, dataset="mock"
    )
    arguments = after_script(planned(config))
    assert arguments[:6] == ["--recipe", "llama32_1b_pretrain_config", "--mode", "pretrain", "--dataset", "mock"]
    assert {"optimizer.lr=0.0002", "train.global_batch_size=8", "train.train_iters=50", *ADDED} == {*arguments[6:]}


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (True, "true"),
        (None, "null"),
        (3e-4, "0.0003"),
        ("1e-5", "1e-05"),
        ([0.9, "1E-8"], "[0.9, 1e-08]"),
        ("1e", '"1e"'),
        ("/data/a b", '"/data/a b"'),
        (["/data/part_1", "/data/part_2"], '["/data/part_1", "/data/part_2"]'),
    ],
)
def test_an_override_is_written_as_bridge_reads_it(value: object, written: str) -> None:
    assert f"dataset.data_path={written}" in after_script(planned(recipe(RECIPE, {"dataset.data_path": value})))


def test_a_number_that_pyyaml_takes_for_a_text_is_one() -> None:
    texts = {"optimizer.lr": "1e-5", "optimizer.betas": [0.9, "1e-8"], "dataset.data_path": "1e999"}
    given = ["optimizer.lr=1e-05", "optimizer.betas=[0.9, 1e-08]", 'dataset.data_path="1e999"']
    assert {*given} <= {*after_script(planned(training_overrides=texts))}


def test_a_count_is_written_as_a_number_whatever_the_file_has() -> None:
    given = {"train.train_iters": "50", "dataset.seq_length": " 4096", "model.sequence_parallel": "True"}
    arguments = after_script(planned(recipe(RECIPE, given)))
    assert {"train.train_iters=50", "dataset.seq_length=4096", "model.sequence_parallel=true"} <= {*arguments}


@pytest.mark.parametrize("plus", ["+", "++"])
def test_a_key_is_added_with_the_plus_of_hydra(plus: str) -> None:
    given = {f"{plus}env_vars": {"NCCL_DEBUG": "INFO"}, f"{plus}train.micro_batch_size": 2}
    plan = planned(recipe(RECIPE, given))
    assert {f'{plus}env_vars.NCCL_DEBUG="INFO"', f"{plus}train.micro_batch_size=2"} <= {*after_script(plan)}
    assert plan["parameters"]["micro_batch_size"] == 2
    assert plan["warnings"] == planned(recipe(RECIPE))["warnings"]
    changed = planned(recipe(RECIPE, given), training_overrides={f"{plus}train.train_iters": 7})
    assert [word for word in after_script(changed) if "train_iters" in word] == [f"{plus}train.train_iters=7"]


def test_overrides_may_stand_in_sections() -> None:
    arguments = after_script(planned(recipe(RECIPE, {"model": {"tensor_model_parallel_size": 2}})))
    assert "model.tensor_model_parallel_size=2" in arguments


def test_what_the_file_says_of_the_log_and_of_checkpoints_goes_before_what_the_plan_adds() -> None:
    own = {"checkpoint.save": "/shared/c", "checkpoint.load": "/shared/c", "logger.log_interval": 10}
    plan = planned(recipe(RECIPE, own))
    assert {'checkpoint.save="/shared/c"', "logger.log_interval=10"} <= {*after_script(plan)}
    assert plan["checkpoints"] == "/shared/c"
    assert any("logger.log_throughput=true" in note for note in plan["notes"])


def test_training_overrides_are_arguments_or_replace_a_section_of_the_file() -> None:
    plan = planned(training_overrides={"train.train_iters": 7, "trainops.bridge_root": "/x", "dataset": "mock"})
    assert "train.train_iters=7" in after_script(plan)
    assert "train.train_iters=50" not in after_script(plan)
    assert plan["nodes"][0]["working_dir"] == "/x"
    assert plan["parameters"]["iterations"] == 7
    assert "--dataset" in after_script(plan)


def test_objects_in_training_overrides_are_sections_as_in_the_file() -> None:
    objects = {"train": {"train_iters": 7}, "overrides": {"dataset": {"seq_length": 4096}}}
    plan = planned(training_overrides=objects)
    assert {"train.train_iters=7", "dataset.seq_length=4096"} <= {*after_script(plan)}
    assert (plan["parameters"]["iterations"], plan["parameters"]["sequence_length"]) == (7, 4096)
    twice = planned(training_overrides={**objects, "train.train_iters": 8})
    assert only(twice["faults"])["key"] == 'training_overrides["train.train_iters"]'
    assert "recipe" in keys(planned(training_overrides={"recipe": {"a": 1}})["faults"])
    layout = planned(training_overrides={"model": {"layout": [["embedding"], ["loss"]]}})
    assert 'model.layout=[["embedding"], ["loss"]]' in after_script(layout)


def test_without_a_container_a_python_and_a_folder_can_be_named() -> None:
    options = {"training_megatron_bridge_root": "/srv/bridge", "training_megatron_bridge_python": "/venv/bin/python"}
    plan = planned(recipe(RECIPE), training_image=None, container_engine="none", **options)
    assert argv_of(plan)[:3] == ["/venv/bin/python", "-m", "torch.distributed.run"]
    assert (plan["nodes"][0]["working_dir"], plan["nodes"][0]["image"]) == ("/srv/bridge", None)


@pytest.mark.parametrize(
    ("name", "model", "mode", "gpus", "gpu", "precision"),
    [
        ("llama3_8b_pretrain_8gpu_h100_bf16_config", "llama3_8b", "pretrain", 8, "H100", "bf16"),
        ("deepseek_v3_pretrain_1024gpu_h100_fp8sc_large_scale_config", "deepseek_v3", "pretrain", 1024, "H100", "fp8"),
        ("llama3_70b_sft_32gpu_h100_bf16_config", "llama3_70b", "sft", 32, "H100", "bf16"),
        ("llama3_70b_peft_8gpu_h100_bf16_config", "llama3_70b", "lora", 8, "H100", "bf16"),
        ("gpt_oss_20b_pretrain_512gpu_gb200_fp8mx_config", "gpt_oss_20b", "pretrain", 512, "GB200", "mxfp8"),
        ("deepseek_v3_pretrain_256gpu_b200_nvfp4_config", "deepseek_v3", "pretrain", 256, "B200", "nvfp4"),
        ("llama32_1b_pretrain_config", "llama32_1b", "pretrain", None, "", ""),
        ("qwen3_8b_sft_config", "qwen3_8b", "sft", None, "", ""),
        ("qwen3_vl_8b_peft_energon_config", "qwen3_vl_8b", "lora", None, "", ""),
        ("my_recipe", "my_recipe", None, None, "", ""),
    ],
)
def test_the_name_of_a_recipe_says_much_of_it(
    name: str, model: str, mode: str | None, gpus: int | None, gpu: str, precision: str
) -> None:
    assert read_name(name) == (model, mode, gpus, gpu, precision)


def test_sizes_of_the_file_are_those_of_the_plan() -> None:
    plan = planned()
    sizes = plan["parameters"]
    assert (sizes["data_parallelism"], sizes["context_parallelism"], sizes["global_batch_size"]) == (8, 2, 256)
    assert plan["tokens_per_step_per_gpu"] == 256 * 8192 / 16
    assert (plan["model"], plan["gpu"], sizes["precision"]) == ("llama3_8b", "H100", "bf16")
    assert plan["workload"]["peak_tflops_per_gpu"] == 989.4


def test_what_only_the_recipe_says_is_not_known_and_said_so() -> None:
    plan = planned(recipe(RECIPE))
    assert plan["faults"] == []
    assert plan["tokens_per_step_per_gpu"] is None
    assert any("the global batch size" in note for note in plan["notes"])
    assert any("tuned for 8 GPUs, and the job has 16" in note for note in plan["notes"])


@pytest.mark.parametrize(
    ("precision", "known"),
    [("bf16_with_fp8_current_scaling_mixed", "fp8"), ("bf16_with_mxfp8_mixed", "mxfp8"), ("bf16_mixed", "bf16")],
)
def test_mixed_precision_goes_before_the_name(precision: str, known: str) -> None:
    plan = planned(recipe("deepseek_v3_pretrain_256gpu_b200_nvfp4_config", {"mixed_precision": precision}))
    assert plan["parameters"]["precision"] == known


@pytest.mark.parametrize(
    ("config", "key", "said"),
    [
        (recipe("megatron.bridge.recipes.llama3"), "recipe", "name of a function"),
        (recipe("my_recipe_config"), "mode", "does not say what to train"),
        (recipe(RECIPE, mode="sft"), "mode", "is a recipe for pretrain"),
        (recipe(RECIPE, mode="train"), "mode", "train"),
        (recipe("llama3_70b_peft_8gpu_h100_bf16_config", mode="dora"), "mode", "is a recipe for lora"),
        (recipe(RECIPE, {"train.train_iters": None}), "overrides.train.train_iters", "number of steps is not set"),
        (recipe(RECIPE, {"dataset.seq_length": 8192, "model.seq_length": "long"}), "overrides.model.seq_length",
         "whole number"),
        (recipe(RECIPE, {"+++train.x": 1}), 'overrides["+++train"].x', "not names"),
        (recipe(RECIPE, {"++logger.comet_api_key": "abc"}), 'overrides["++logger.comet_api_key"]', "secret"),
        (recipe(RECIPE, dataset="c4"), "dataset", "c4"),
        ({"recipe": RECIPE}, "overrides.train.train_iters", "number of steps is not set"),
        (recipe(RECIPE, {"train.train_iters": "many"}), "overrides.train.train_iters", "whole number"),
        (recipe(RECIPE, {"train.x y": 1}), 'overrides.train["x y"]', "not names"),
        (recipe(RECIPE, {"model.layout": [["a"], [{"b": 1}]]}), "overrides.model.layout", "cannot contain objects"),
        (recipe(RECIPE, {"model.tensor_model_parallel_size": 3, "model.pipeline_model_parallel_size": 1,
                         "model.context_parallel_size": 1}), "overrides.model.tensor_model_parallel_size", "divided"),
        (recipe(RECIPE, {"logger.comet_api_key": "abc"}), 'overrides["logger.comet_api_key"]', "secret"),
        (recipe(RECIPE, {"logger.skip_train_metrics_log": 1}), "overrides.logger.skip_train_metrics_log", "No step"),
        (recipe(RECIPE, trainops={"nnodes": 4, "container_image": "i"}), "trainops.nnodes", "2 nodes"),
        (recipe(RECIPE, trainop={}), "trainop", "not a known key"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_fault(config: dict[str, t.Any], key: str, said: str) -> None:
    fault = only(planned(config, training_image="nemo:26.08")["faults"])
    assert (fault["key"], said in fault["message"]) == (key, True), fault


def test_a_section_that_bridge_does_not_have_is_warned_of() -> None:
    plan = planned(recipe(RECIPE, {"trian.global_batch_size": 8, "optim.lr": 1}))
    assert {"overrides.trian.global_batch_size", "overrides.optim.lr"} <= {*keys(plan["warnings"])}
    assert any("Did you mean train?" in warning["remedy"] for warning in plan["warnings"])


def test_a_recipe_that_bridge_does_not_have_is_warned_of_with_the_nearest_one() -> None:
    def warned(name: str) -> list[str]:
        found = planned(recipe(name, {"train.train_iters": 10}))["warnings"]
        return [warning["remedy"] for warning in found if warning["key"] == "recipe"]

    assert "llama3_8b_pretrain_config" in only(warned("lama3_8b_pretrain_config"))
    assert warned("llama3_8b_pretrain_config") == warned("llama3_8b_pretrain_8gpu_h100_bf16_config") == []


def test_no_image_is_a_fault_and_its_remedy_names_one() -> None:
    fault = only(planned(recipe(RECIPE), training_image=None)["faults"])
    assert (fault["key"], "nvcr.io" in fault["remedy"]) == ("training_image", True)


def test_the_file_says_how_many_nodes_it_is_for() -> None:
    text = (FOLDER / f"{LLAMA3}.yaml").read_text("utf-8")
    assert asked_by(text, "c.yaml", {}, 0).nodes == 2


@pytest.mark.parametrize(
    "text", ["recipe: [\n", "- recipe: x\n", "recipe: x\n  y: 1\n", "recipe: &a [*a]\n", "recipe:\n"]
)
def test_broken_files_are_faults(text: str) -> None:
    assert make_plan(text, "c.yaml", {"training_framework": "megatron_bridge"}, nodes(2))["faults"]


def test_no_value_whatever_breaks_a_plan() -> None:
    """Every key is left out once, and gets one of the values; the next key gets the next."""
    config = values_of()
    for path, value in zip(paths_of(config), itertools.cycle(ANYTHING), strict=False):
        for changed in (without(config, path), with_value(config, path, value)):
            options = {"training_framework": "megatron_bridge"}
            check_promises(make_plan(json.dumps(changed), "c.yaml", options, nodes(2)))


@pytest.mark.parametrize("value", [None, [], {}, "x", 1, {"a": 1}, {"a.b": {"c": []}}])
@pytest.mark.parametrize("section", ["recipe", "mode", "overrides", "trainops"])
@pytest.mark.parametrize("hosts", [0, 2])
def test_no_section_whatever_breaks_a_plan(section: str, value: t.Any, hosts: int) -> None:
    config = {**values_of(), section: value}
    options = {"training_framework": "megatron_bridge"}
    check_promises(make_plan(json.dumps(config), "c.yaml", options, nodes(hosts)))


def test_a_key_that_is_given_twice_is_named_with_its_line() -> None:
    text = f"recipe: {RECIPE}\noverrides:\n  train.train_iters: 5\n  train.train_iters: 6\n"
    fault = only(make_plan(text, "c.yaml", {}, nodes(2))["faults"])
    assert "line 4" in fault["message"]
    assert "train.train_iters" in fault["value"]


def test_the_rehearsal_starts_the_embedded_trainer() -> None:
    plan = planned(training_rehearsal=True, container_engine="none", training_megatron_bridge_root="/nowhere")
    assert (plan["faults"], plan["framework"], plan["log_grammar"]) == ([], "megatron_bridge", "megatron")
    assert argv_of(plan, 1)[:2] == ["bash", "examples/llama/train_llama3.sh"]
