"""The variables of the scripts of each generation of ROCm's Megatron-LM."""

from __future__ import annotations

import pytest
from training_configs import BRANCH, DISTRIBUTED, deepseek, filled, keys, only, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.rocm_scripts.generations import (
    GENERATIONS,
    V24_12,
    V25_3,
    V25_5,
    V26_1,
    generation_of_image,
    returns_exit_status,
)

CACHE = {"config/container_config/volume_dict": {"/nfs/cache": "/root/cache", "/home/{user-id}": "/home/{user-id}"}}
IMAGES = {
    V24_12: "rocm/megatron-lm:24.12-dev",
    V25_3: "rocm/megatron-lm:v25.3",
    V25_5: "rocm/megatron-lm:v25.5_py310",
    V26_1: "rocm/megatron-lm:v26.1",
}
LLAMA2, LLAMA3 = "examples/llama/train_llama2.sh", "examples/llama/train_llama3.sh"
REAL = {"config/mock_data": "False", "config/data_path": "/home/{user-id}/text"}


def of(generation: str, changes: dict[str, object] | None = None, **options: object) -> dict[str, object]:
    config = filled(DISTRIBUTED, {"config/container_image": IMAGES[generation], **CACHE, **(changes or {})})
    return planned(config, **options)


def llama2(generation: str, **values: object) -> dict[str, object]:
    config = filled(DISTRIBUTED, {"config/container_image": IMAGES[generation], **CACHE})
    branch = {
        **config["model_params"]["multi_node"]["llama3_1_8b"]["mi300x"],
        "model_size": "7",
        "sequence_length": 4096,
        **values,
    }
    config["model_params"]["multi_node"] = {"llama2_7b": {"mi300x": branch}}
    return planned(config, training_model="llama2_7b")


@pytest.mark.parametrize(
    ("image", "generation"),
    [
        ("rocm/megatron-lm:24.12-dev", V24_12),
        ("rocm/megatron-lm:v25.3", V25_3),
        ("rocm/megatron-lm:v25.4", V25_5),
        ("docker.io/rocm/megatron-lm:v25.5_py310", V25_5),
        ("localhost:5000/megatron-lm:v25.9_gfx950", V25_5),
        ("rocm/primus:v25.11", V25_5),
        ("rocm/megatron-lm:v26.1", V26_1),
        ("rocm/megatron-lm:latest", None),
        ("rocm/megatron-lm", None),
        ("nvcr.io/nvidia/pytorch:25.03-py3", None),
        ("my/megatron:0.12.3", None),
        (None, None),
    ],
)
def test_the_tag_of_an_image_tells_the_generation(image: str | None, generation: str | None) -> None:
    assert generation_of_image(image) == generation


def test_the_plan_says_its_generation_and_where_it_comes_from() -> None:
    told, asked = of(V25_3), of(V25_3, training_megatron_release="v26.1")
    assert told["parameters"]["script_generation"] == V25_3
    assert told["notes"][:1] == [
        f"{LLAMA3} is treated as generation v25.3, as the tag of rocm/megatron-lm:v25.3 says. It exits with status "
        "0 even when the training failed, so only its log shows a failure."
    ]
    assert asked["parameters"]["script_generation"] == V26_1
    assert asked["notes"][:1] == [
        f"{LLAMA3} is treated as generation v26.1, as set in training_megatron_release (v26.1)."
    ]


@pytest.mark.parametrize(
    ("changes", "options", "reason"),
    [
        (
            {"config/container_image": "my/megatron:nightly"},
            {},
            "the tag of my/megatron:nightly does not say which",
        ),
        ({}, {"container_engine": "none"}, "no image tag says which"),
    ],
)
def test_a_generation_that_is_taken_for_granted_is_said(
    changes: dict[str, str], options: dict[str, str], reason: str
) -> None:
    plan = planned(filled(DISTRIBUTED, changes), **options)
    assert plan["parameters"]["script_generation"] == V26_1
    assert plan["notes"][:1] == [
        f"{LLAMA3} is treated as generation v26.1, assumed because {reason}; set training_megatron_release to "
        "change it."
    ]


@pytest.mark.parametrize("release", ["25", "v25.5.1", "newest", 25.5, "25.105"])
def test_what_is_no_release_is_a_fault(release: object) -> None:
    assert keys(of(V25_5, training_megatron_release=release)["faults"]) == ["training_megatron_release"]


@pytest.mark.parametrize("release", ["v25.9", "25.12", "", None])
def test_any_release_may_be_named(release: object) -> None:
    options = {} if release is None else {"training_megatron_release": release}
    assert of(V25_5, **options)["parameters"]["script_generation"] == V25_5


@pytest.mark.parametrize("generation", GENERATIONS)
def test_synthetic_data_is_asked_for_as_each_generation_understands_it(generation: str) -> None:
    environment = of(generation)["nodes"][0]["env"]
    assert environment["MOCK_DATA"] == "1"
    # The scripts of v26.1 look at nothing but whether this variable is there.
    assert "DATA_PATH" not in environment


@pytest.mark.parametrize("generation", [V25_3, V25_5, V26_1])
def test_a_dataset_is_named_as_each_generation_understands_it(generation: str) -> None:
    plan = of(generation, REAL)
    assert plan["faults"] == []
    environment = plan["nodes"][0]["env"]
    assert (environment["MOCK_DATA"], environment["DATA_PATH"]) == ("0", "/home/amd/text")


def test_the_llama_scripts_of_v24_12_know_synthetic_data_only() -> None:
    fault = only(of(V24_12, REAL)["faults"])
    assert (fault["key"], fault["value"]) == ("config.mock_data", False)
    assert fault["message"] == f"{LLAMA3} of generation v24.12 always trains on synthetic data."


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_data_path_of_the_users_own_does_not_end_synthetic_data_unasked(generation: str) -> None:
    fault = only(of(generation, {"config/container_config/env_dict": {"DATA_PATH": "/x"}})["faults"])
    assert fault["key"] == "config.container_config.env_dict.DATA_PATH"


@pytest.mark.parametrize("generation", GENERATIONS)
def test_variables_of_nccl_are_given_as_arguments_too_as_v25_3_overwrites_its_environment(generation: str) -> None:
    for node in of(generation)["nodes"]:
        for name in ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
            assert f"{name}={node['env'][name]}" in node["argv"]


@pytest.mark.parametrize(
    ("generation", "devices", "interface"),
    [
        (V24_12, "rdma0 to rdma7", "ens5, and ens50f0 for Gloo"),
        (V25_3, "rdma0 to rdma7", "ens51np0"),
        (V25_5, "and none where there are fewer", "ens51np0"),
        (V26_1, "or as many as there are", "ens51np0"),
    ],
)
def test_what_each_generation_takes_where_nothing_is_said_of_the_network(
    generation: str, devices: str, interface: str
) -> None:
    nothing = {"config/nccl_ib_hca_list": None, "config/nccl_socket_ifname": None}
    plan = of(generation, {**nothing, f"{BRANCH}/tokenizer_model": "meta-llama/Llama-3.1-8B"})
    messages = [warning["message"] for warning in plan["warnings"]]
    assert devices in messages[0]
    assert messages[1] == f"nccl_socket_ifname is missing: the training script uses {interface}."


def test_only_what_the_generation_reads_is_given() -> None:
    unread = {"FSDP", "RECOMPUTE", "DATA_CACHE_PATH", "TOKENIZER_MODEL"}
    old, new = of(V25_3)["nodes"][0]["env"], of(V25_5)["nodes"][0]["env"]
    assert set(new) - set(old) == unread
    assert set(of(V26_1)["nodes"][0]["env"]) == set(new)


@pytest.mark.parametrize(
    ("generation", "tokenizer", "message"),
    [
        (V25_3, "NousResearch/Meta-Llama-3-8B", f"{LLAMA3} uses meta-llama/Llama-3.1-8B."),
        (V25_3, "meta-llama/Llama-3.1-8B", None),
        (V25_5, "NousResearch/Meta-Llama-3-8B", None),
        (V26_1, "NousResearch/Meta-Llama-3-8B", None),
    ],
)
def test_which_generation_reads_the_tokenizer_of_llama_3(generation: str, tokenizer: str, message: str | None) -> None:
    warnings = of(generation, {f"{BRANCH}/tokenizer_model": tokenizer})["warnings"]
    assert [warning["message"] for warning in warnings] == (
        [f"tokenizer_model has no effect: {message}"] if message else []
    )


@pytest.mark.parametrize(
    ("generation", "tokenizer", "told"),
    [
        (V25_5, "NousResearch/Meta-Llama-3-8B", True),
        (V25_5, "meta-llama/Llama-3.1-8B", False),
        (V25_5, "llama-3", True),
        (V25_5, "/data/tokenizer", False),
        (V26_1, "NousResearch/Meta-Llama-3-8B", False),
    ],
)
def test_a_plan_says_which_tokenizer_a_script_fetches_in_place_of_the_one_that_is_named(
    generation: str, tokenizer: str, told: bool
) -> None:
    [note] = [note for note in of(generation, {f"{BRANCH}/tokenizer_model": tokenizer})["notes"] if LLAMA3 in note]
    assert ("fetches the tokenizer of meta-llama/Llama-3.1-8B instead;" in note) is told


@pytest.mark.parametrize(
    ("generation", "place"),
    [(V25_3, "experiment/tokenizer.model of its checkout"), (V25_5, "the folder tokenizer_llama2 of its data folder")],
)
def test_the_older_scripts_of_llama_2_have_a_tokenizer_of_their_own(generation: str, place: str) -> None:
    plan = llama2(generation)
    assert only(plan["warnings"])["message"] == f"tokenizer_model has no effect: {LLAMA2} uses {place}."
    assert "TOKENIZER_MODEL" not in plan["nodes"][0]["env"]


def test_the_script_of_llama_2_of_v26_1_reads_the_tokenizer_but_with_llama2tokenizer() -> None:
    assert llama2(V26_1)["nodes"][0]["env"]["TOKENIZER_MODEL"] == "NousResearch/Meta-Llama-3-8B"
    plan = llama2(V26_1, tokenizer_type="Llama2Tokenizer")
    assert plan["nodes"][0]["env"]["TOKENIZER_TYPE"] == "Llama2Tokenizer"
    assert "TOKENIZER_MODEL" not in plan["nodes"][0]["env"]
    assert "fetches Llama 2's itself" in only(plan["warnings"])["message"]


def test_the_token_itself_is_given_to_the_one_script_that_asks_for_it() -> None:
    for generation in GENERATIONS:
        secret = only(of(generation)["nodes"][0]["secrets"])
        assert secret.get("value_variable") == ("HF_TOKEN" if generation == V25_5 else None)
    assert "value_variable" not in only(llama2(V25_5)["nodes"][0]["secrets"])
    assert "value_variable" not in only(deepseek()["nodes"][0]["secrets"])


def test_the_cache_that_v25_3_has_written_in_it_has_to_be_mounted() -> None:
    config = {"config/container_config/volume_dict": {"/home/{user-id}": "/home/{user-id}"}}
    tokenizer = {f"{BRANCH}/tokenizer_model": "meta-llama/Llama-3.1-8B"}
    warning = only(of(V25_3, {**config, **tokenizer})["warnings"])
    assert warning["key"] == "config.data_cache_dir"
    assert warning["remedy"] == "Mount a folder that all nodes share at /root/cache."
    assert of(V25_3, tokenizer)["warnings"] == []
    assert of(V25_5, config)["warnings"] == []


def test_which_scripts_tell_of_a_failure() -> None:
    assert [returns_exit_status(LLAMA3, generation) for generation in GENERATIONS] == [False, False, False, True]
    assert returns_exit_status("examples/deepseek_v2/train_deepseekv2.sh", V26_1) is False
    assert returns_exit_status("my/own.sh", V26_1) is None


@pytest.mark.parametrize("image", ["rocm/primus:v26.5", "registry.example/rocm/primus:v26.9.1"])
def test_an_image_of_primus_without_the_scripts_is_refused_unless_they_are_mounted(image: str) -> None:
    config = {"config/container_image": image}
    scripts = {"training_trainer": "rocm_scripts"}
    fault = only(planned(filled(DISTRIBUTED, config), **scripts)["faults"])
    assert (fault["key"], fault["value"]) == ("config.container_image", image)
    mounted = {"/home/{user-id}": "/home/{user-id}", "/opt/megatron": "/workspace/Megatron-LM"}
    plan = planned(filled(DISTRIBUTED, {**config, "config/container_config/volume_dict": mounted}), **scripts)
    assert plan["faults"] == []
    assert planned(filled(DISTRIBUTED, {"config/container_image": "rocm/primus:v25.11"}))["faults"] == []
