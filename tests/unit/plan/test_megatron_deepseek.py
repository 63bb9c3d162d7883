"""Values written into train_deepseekv2.sh, and the settings that a plan therefore refuses."""

from __future__ import annotations

import copy

import pytest
from training_configs import DEEPSEEK, DEEPSEEK_BRANCH, deepseek, filled, keys, only, planned

KEY = DEEPSEEK_BRANCH.replace("/", ".")
SCRIPT = "examples/deepseek_v2/train_deepseekv2.sh"
V26_1 = {"training_megatron_release": "v26.1"}


def test_each_node_trains_on_its_own_and_gets_what_the_script_reads() -> None:
    plan = deepseek(**V26_1)
    assert (plan["faults"], plan["warnings"], plan["mode"]) == ([], [], "single_node")
    assert [node["node_rank"] for node in plan["nodes"]] == [0, 0]
    node = plan["nodes"][0]
    assert node["argv"] == ["bash", SCRIPT]
    others = ("TRAINOPS", "HF_", "TORCH_NCCL_")
    assert {name: value for name, value in node["env"].items() if not name.startswith(others)} == {
        "TRAIN_ITERS": "50",
        "MBS": "4",
        "GBS": "256",
        "SEQ_LEN": "4096",
        "GEMM_TUNING": "1",
        "AC": "none",
        "PAD_LEN": "4096",
        "PR": "bf16",
        "MOCK_DATA": "1",
        "DATA_CACHE_PATH": "/home/amd/cache",
    }
    parameters = plan["parameters"]
    assert (parameters["data_parallelism"], parameters["expert_parallelism"], parameters["precision"]) == (8, 8, "bf16")
    assert plan["workload"]["parameters"] > 15e9


@pytest.mark.parametrize("hosts", [1, 2])
def test_a_plan_for_one_job_over_the_nodes_is_refused_with_the_reason(hosts: int) -> None:
    config = filled(DEEPSEEK, {"config/nnodes": str(hosts), "config/nccl_socket_ifname": "eth0"})
    config["config"] |= {"gloo_socket_ifname": "eth0", "nccl_ib_hca_list": "rdma0"}
    config["model_params"]["multi_node"] = config["model_params"].pop("single_node")
    plan = planned(config, hosts, training_model="deepseek_v2_lite", **V26_1)
    fault = only(plan["faults"])
    assert fault["key"] == "model_params.multi_node.deepseek_v2_lite.mi300x"
    assert fault["message"] == (
        f"{SCRIPT} trains on a single node only: it sets MASTER_ADDR=localhost, NNODES=1 and NODE_RANK=0 itself, "
        "so every node would train on its own."
    )
    assert "model_params.single_node.deepseek_v2_lite" in fault["remedy"]


@pytest.mark.parametrize("name", ["deepseek_v2_lite", "DeepSeek-V2-Lite", "deepseek-v2-16b"])
def test_the_name_of_the_model_says_deepseek(name: str) -> None:
    config = filled(DEEPSEEK, {"config/nnodes": "2"})
    models = config["model_params"]["single_node"]
    models[name] = models.pop("deepseek_v2_lite")
    plan = planned(config, 2, training_model=name, **V26_1)
    assert (plan["faults"], plan["nodes"][0]["argv"][1]) == ([], SCRIPT)


def test_the_tokenizer_says_deepseek_as_in_cvs() -> None:
    config = filled(DEEPSEEK, {"config/nnodes": "2", "config/training_scripts": {"deepseek": SCRIPT}})
    models = config["model_params"]["single_node"]
    models["lite"] = models.pop("deepseek_v2_lite")
    assert planned(config, 2, training_model="lite", **V26_1)["nodes"][0]["argv"] == ["bash", SCRIPT]


def test_the_spelling_of_the_guide_is_told() -> None:
    plan = deepseek({"config/training_scripts": {"deepseek": "examples/deepseek_v2/train_deepseek_v2.sh"}})
    assert f"Did you mean {SCRIPT}?" in only(plan["warnings"])["remedy"]


@pytest.mark.parametrize(
    ("changes", "options", "key", "words"),
    [
        ({"tensor_parallelism": "2"}, {}, f"{KEY}.tensor_parallelism", "parallelism are 1, and"),
        ({"pipeline_parallelism": "3"}, {}, f"{KEY}.pipeline_parallelism", "parallelism are 1, and"),
        ({"config/training_iterations": "51"}, {}, "config.training_iterations", "ends after step 50"),
        ({"config/training_iterations": "4"}, {}, "config.training_iterations", "fewer than 5 steps"),
        ({"padding_length": "8192"}, {}, f"{KEY}.padding_length", "more than the sequence length"),
        ({"fsdp": "1"}, {}, f"{KEY}.fsdp", "does not read FSDP"),
        ({"model_size": "236"}, {}, f"{KEY}.model_size", "does not know model size '236'"),
        ({"precision": "TE_FP4"}, {}, f"{KEY}.precision", "cannot train in FP4"),
        (
            {"sequence_length": "2048"},
            {"training_megatron_release": "v25.3"},
            f"{KEY}.sequence_length",
            "trains with 4096 tokens",
        ),
    ],
)
def test_what_the_script_cannot_do(changes: dict[str, object], options: dict[str, str], key: str, words: str) -> None:
    plan = deepseek(changes, **{**V26_1, **options})
    found = [fault for fault in plan["faults"] if fault["key"] == key]
    assert words in found[0]["message"]


def test_it_needs_nodes_of_eight_gpus() -> None:
    plan = deepseek({"batch_size": "256"}, training_gpus_per_node=4, **V26_1)
    assert keys(plan["faults"]) == ["training_gpus_per_node"]


@pytest.mark.parametrize(("precision", "pr"), [("TE_FP8", "fp8"), ("TE_BF16", "bf16"), ("TE_FP16", ""), ("TE_F16", "")])
def test_it_trains_in_anything_but_fp16_which_megatron_refuses_with_experts(precision: str, pr: str) -> None:
    plan = deepseek({"precision": precision}, **V26_1)
    assert plan["warnings"] == []
    if pr:
        assert (plan["nodes"][0]["env"]["PR"], plan["parameters"]["precision"]) == (pr, pr)
    assert [fault["message"].startswith("Megatron-LM rejects FP16") for fault in plan["faults"]] == [True] * (not pr)


@pytest.mark.parametrize(
    ("changes", "checkpointing"),
    [
        ({"activation_checkpointing": None}, "sel"),
        ({"activation_checkpointing": None, "recompute": "1"}, "full"),
        ({"activation_checkpointing": None, "recompute": "0"}, "none"),
        ({"activation_checkpointing": "sel"}, "sel"),
    ],
)
def test_what_is_recomputed(changes: dict[str, object], checkpointing: str) -> None:
    plan = deepseek(changes, **V26_1)
    assert (plan["warnings"], plan["nodes"][0]["env"]["AC"]) == ([], checkpointing)


def test_two_ways_to_say_what_is_recomputed_that_differ_are_a_warning() -> None:
    plan = deepseek({"activation_checkpointing": "sel", "recompute": "1"}, **V26_1)
    assert only(plan["warnings"])["key"] == f"{KEY}.recompute"
    assert plan["nodes"][0]["env"]["AC"] == "sel"


def test_the_trap_of_the_older_script_is_told() -> None:
    assert "fewer than eight RDMA devices" in only(deepseek()["warnings"])["message"]


def test_another_tokenizer_has_no_effect() -> None:
    warning = only(deepseek({"tokenizer_model": "deepseek-ai/DeepSeek-V3"}, **V26_1)["warnings"])
    assert warning["message"] == f"tokenizer_model has no effect: {SCRIPT} uses deepseek-ai/DeepSeek-V2-Lite."


RESULT = "mmap_deepseekv2_datasets_text_document"
FETCHED = {"dataset": "deepseek", "data_dir": "/home/{user-id}/ds"}


@pytest.mark.parametrize(
    "data", [{"config/dataset_source": FETCHED}, {"config/data_path": f"/home/{{user-id}}/ds/{RESULT}"}]
)
def test_its_dataset_is_named_by_its_folder(data: dict[str, object]) -> None:
    plan = deepseek({"config/mock_data": "False", **copy.deepcopy(data)}, **V26_1)
    assert (plan["faults"], plan["warnings"]) == ([], [])
    environment = plan["nodes"][0]["env"]
    assert (environment["MOCK_DATA"], environment["DATA_DIR"]) == ("0", "/home/amd/ds")
    assert "DATA_PATH" not in environment


@pytest.mark.parametrize(
    ("data", "key"),
    [
        ({"config/dataset_source": {**FETCHED, "dataset": "wiki"}}, "config.dataset_source.dataset"),
        ({"config/data_path": "/home/{user-id}/text"}, "config.data_path"),
    ],
)
def test_another_dataset_is_a_fault(data: dict[str, object], key: str) -> None:
    assert keys(deepseek({"config/mock_data": "False", **data}, **V26_1)["faults"]) == [key]


def test_older_scripts_have_the_folder_written_in_them() -> None:
    data = {"config/mock_data": "False", "config/dataset_source": FETCHED}
    warnings = deepseek(data, training_megatron_release="v25.5")["warnings"]
    assert any("/workspace/dev/data/deepseek-datasets" in warning["message"] for warning in warnings)
