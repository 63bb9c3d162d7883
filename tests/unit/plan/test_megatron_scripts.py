from __future__ import annotations

import pytest
from training_configs import BRANCH, DISTRIBUTED, change, filled, keys, only, planned

KEY = BRANCH.replace("/", ".")
LLAMA2, LLAMA3 = "examples/llama/train_llama2.sh", "examples/llama/train_llama3.sh"


def renamed(name: str, **values: object) -> dict[str, object]:
    """Return the distributed config with its Llama 3.1 8B under another name and with other values."""
    config = filled(DISTRIBUTED)
    models = config["model_params"]["multi_node"] = {"llama3_1_8b": config["model_params"]["multi_node"]["llama3_1_8b"]}
    models[name] = models.pop("llama3_1_8b")
    models[name]["mi300x"].update(values)
    return config


@pytest.mark.parametrize(
    ("model", "size", "script"),
    [
        ("llama3_1_8b", "8", LLAMA3),
        ("Llama-3.1-8B", "8", LLAMA3),
        ("llama3.1-8b", "8B", LLAMA3),
        ("llama2_7b", "7", LLAMA2),
        ("llama-2-70b", "70", LLAMA2),
    ],
)
def test_the_model_decides_on_the_script(model: str, size: str, script: str) -> None:
    plan = planned(renamed(model, model_size=size), training_model=model)
    assert plan["faults"] == []
    assert plan["nodes"][0]["argv"][:2] == ["bash", script]
    assert plan["nodes"][0]["env"]["MODEL_SIZE"] == size.rstrip("B")


def test_training_scripts_go_first_with_the_first_pattern_that_is_found_in_the_tokenizer() -> None:
    scripts = {"llama-?2": LLAMA2, "LLAMA-?3": "my/train_llama3.sh", "Llama": "other.sh"}
    plan = planned(filled(DISTRIBUTED, {"config/training_scripts": scripts}))
    assert (plan["faults"], plan["warnings"]) == ([], [])
    assert plan["nodes"][0]["argv"][1] == "my/train_llama3.sh"


def test_patterns_that_are_not_found_are_a_warning_and_the_model_decides() -> None:
    plan = planned(filled(DISTRIBUTED, {"config/training_scripts": {"mixtral": "examples/mixtral/train.sh"}}))
    assert plan["nodes"][0]["argv"][1] == LLAMA3
    warning = only(plan["warnings"])
    assert warning["key"] == "config.training_scripts"
    assert warning["message"] == (
        "It has no effect, because none of its patterns matches tokenizer_model (NousResearch/Meta-Llama-3-8B): "
        f"{LLAMA3} trains llama3_1_8b."
    )


@pytest.mark.parametrize("script", ["deepseek_v3/train_deepseekv3.sh", "qwen3/train_qwen3.sh"])
def test_a_script_that_is_known_to_read_other_variables_is_a_fault(script: str) -> None:
    fault = only(planned(filled(DISTRIBUTED, {"config/training_scripts": {"Llama-3": f"examples/{script}"}}))["faults"])
    assert fault["key"] == "config.training_scripts.Llama-3"
    assert "from TRAIN_ITERS and GLOBAL_BATCH_SIZE, which a plan does not set" in fault["message"]


def test_a_script_that_nothing_is_known_about_is_a_warning() -> None:
    plan = planned(filled(DISTRIBUTED, {"config/training_scripts": {"Llama-3": "my/own.sh"}}))
    assert plan["nodes"][0]["argv"][1] == "my/own.sh"
    warning = only(plan["warnings"])
    assert warning["key"] == "config.training_scripts.Llama-3"
    assert warning["message"].startswith("my/own.sh is not a known script")


def test_a_model_without_a_script_is_a_fault() -> None:
    fault = only(planned(renamed("mixtral_8x7b"), training_model="mixtral_8x7b")["faults"])
    assert fault["key"] == "config.training_scripts"
    assert fault["value"] is None
    assert fault["message"] == "No training script is known for the model mixtral_8x7b."
    assert "NousResearch/Meta-Llama-3-8B" in fault["remedy"]


@pytest.mark.parametrize("wrong", ["config/training_scripts", "model_params/multi_node/mixtral/mi300x/tokenizer_model"])
def test_what_names_the_script_is_the_only_fault_where_it_is_wrong(wrong: str) -> None:
    config = renamed("mixtral")
    change(config, {wrong: []})
    assert keys(planned(config, training_model="mixtral")["faults"]) == [wrong.replace("/", ".")]


@pytest.mark.parametrize("scripts", [{"(": "a.sh"}, {"*": "a.sh"}, {"llama": "a;b"}, {"llama": ""}, "x", ["a"]])
def test_wrong_training_scripts_are_a_fault(scripts: object) -> None:
    faults = planned(filled(DISTRIBUTED, {"config/training_scripts": scripts}))["faults"]
    assert all(fault["key"].startswith("config.training_scripts") for fault in faults)
    assert len(faults) == 1


@pytest.mark.parametrize(("model", "size", "known"), [("llama3_1_8b", "405", "8, 70"), ("llama2_7b", "8", "7, 13, 70")])
def test_a_size_that_the_script_does_not_know_is_a_fault(model: str, size: str, known: str) -> None:
    fault = only(planned(renamed(model, model_size=size), training_model=model)["faults"])
    assert fault["key"].endswith(".model_size")
    assert fault["message"].endswith(f"does not know model size '{size}'.")
    assert f"It knows {known}." in fault["remedy"]


@pytest.mark.parametrize(
    ("model", "size", "heads", "groups", "layers"),
    [
        ("llama3_1_8b", "8", 32, 8, 32),
        ("llama3_1_70b", "70", 64, 8, 80),
        ("llama2_7b", "7", 32, 32, 32),
        ("llama2_13b", "13", 40, 40, 40),
        ("llama2_70b", "70", 64, 8, 80),
    ],
)
def test_the_dimensions_of_every_model_that_the_scripts_know(
    model: str, size: str, heads: int, groups: int, layers: int
) -> None:
    sizes = {"model_size": size, "tensor_parallelism": 7, "pipeline_parallelism": 7, "sequence_length": 7168}
    faults = planned(renamed(model, **sizes), training_model=model)["faults"]
    assert [fault["message"] for fault in faults[-2:]] == [
        f"The model's {heads} attention heads and {groups} query groups cannot be divided among 7 tensor-parallel "
        "ranks.",
        f"The model's {layers} layers cannot be divided among 7 pipeline stages.",
    ]


OWN_CHECKOUT = {"training_model": "llama3_x", "training_megatron_root": "/my/Megatron-LM"}


def test_dimensions_of_its_own_let_another_size_of_an_own_checkout_through_and_are_checked() -> None:
    own = {"num_layers": "6", "num_attention_heads": 6, "model_size": "tiny"}
    assert planned(renamed("llama3_x", **own), **OWN_CHECKOUT)["faults"] == []
    assert only(planned(renamed("llama3_x", **own), training_model="llama3_x")["faults"])["message"] == (
        f"{LLAMA3} of generation v25.5 does not know model size 'tiny'."
    )
    wrong = renamed("llama3_x", **own, tensor_parallelism="4", pipeline_parallelism="4")
    assert [fault["message"] for fault in planned(wrong, **OWN_CHECKOUT)["faults"]] == [
        "The model's 6 attention heads and 6 query groups cannot be divided among 4 tensor-parallel ranks.",
        "The model's 6 layers cannot be divided among 4 pipeline stages.",
    ]
    groups = renamed("llama3_x", **own, num_query_groups="3", tensor_parallelism="2")
    assert "6 attention heads and 3 query groups" in only(planned(groups, **OWN_CHECKOUT)["faults"])["message"]


def test_dimensions_that_are_null_are_none() -> None:
    config = renamed("llama3_x", model_size="405", num_layers=None, num_attention_heads=None)
    assert only(planned(config, training_model="llama3_x")["faults"])["key"].endswith(".model_size")
    assert planned(filled(DISTRIBUTED, {f"{BRANCH}/num_layers": None}))["warnings"] == []


@pytest.mark.parametrize("wrong", [{"num_layers": "x"}, {"num_query_groups": "x"}])
def test_a_wrong_dimension_is_the_only_fault(wrong: dict[str, str]) -> None:
    own = {"num_layers": "6", "num_attention_heads": 6, "model_size": "tiny", "tensor_parallelism": 2, **wrong}
    fault = only(planned(renamed("llama3_x", **own), **OWN_CHECKOUT)["faults"])
    assert fault["key"].endswith(next(iter(wrong)))


def test_dimensions_of_a_size_that_the_script_knows_have_no_effect_and_are_a_warning() -> None:
    plan = planned(filled(DISTRIBUTED, {f"{BRANCH}/num_layers": "5", f"{BRANCH}/pipeline_parallelism": "2"}))
    assert plan["faults"] == []
    warning = only(plan["warnings"])
    assert warning["key"] == f"{KEY}.num_layers"
    assert warning["message"] == (
        "num_layers has no effect: for size 8 the training script has 32 layers, 32 attention heads and 8 query groups."
    )


def test_the_tokenizer_of_llama_2_has_no_effect() -> None:
    plan = planned(renamed("llama2_7b", model_size="7"), training_model="llama2_7b")
    warning = only(plan["warnings"])
    assert warning["key"].endswith("tokenizer_model")
    assert warning["message"] == (
        f"tokenizer_model has no effect: {LLAMA2} uses the folder tokenizer_llama2 of its data folder."
    )


@pytest.mark.parametrize(
    ("tokenizer", "warned"),
    [("meta-llama/Llama-3.1-8B", True), ("/data/llama-3-tokenizer", False), ("llama-3", False)],
)
def test_a_name_on_the_hub_without_a_token_is_a_warning(tokenizer: str, warned: bool) -> None:
    changes = {f"{BRANCH}/tokenizer_model": tokenizer, "config/hf_token_file": None}
    plan = planned(filled(DISTRIBUTED, changes))
    assert plan["faults"] == []
    assert keys(plan["warnings"]) == ([f"{KEY}.tokenizer_model"] if warned else [])
