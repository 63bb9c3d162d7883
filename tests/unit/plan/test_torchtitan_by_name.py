# SPDX-License-Identifier: GPL-3.0-or-later
"""TorchTitan since 0.3, with a config given by name: the command of each node, and a plan's facts about it.

``UPDATE_GOLDEN_PLANS=1 pytest tests/unit/plan/test_torchtitan_by_name.py`` writes the golden plan anew; look at the
diff.
"""

from __future__ import annotations

import itertools
import json
import os
import typing as t

import pytest
import yaml
from test_make_plan import ANYTHING, check_promises, paths_of, with_value, without
from torchtitan_configs import BY_NAME, FOLDER
from training_configs import ROOT, nodes, only

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import asked_by, make_plan

_FILLED = {
    "hf_assets_path: <changeme>": "hf_assets_path: /data/Llama-3.1-8B",
    "container_image: <changeme>": "container_image: example.org/torchtitan:0.3",
    "NCCL_IB_HCA: <changeme>": "NCCL_IB_HCA: rdma0,rdma1",
    "_IFNAME: <changeme>": "_IFNAME: ens51np0",
    "tokens_per_gpu: <changeme>": "tokens_per_gpu: 6000",
}


def example(changes: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
    """Return the example filled in, with changes: values, or None to leave one out, by the paths of their keys."""
    text = (FOLDER / f"{BY_NAME}.yaml").read_text("utf-8")
    for old, new in _FILLED.items():
        assert old in text
        text = text.replace(old, new)
    config: dict[str, t.Any] = yaml.safe_load(text)
    for path, value in (changes or {}).items():
        *above, last = path.split("/")
        section = config
        for key in above:
            section = section[key]
        section[last] = value
        if value is None:
            del section[last]
    return config


def planned(changes: dict[str, t.Any] | None = None, hosts: int = 2, **options: t.Any) -> dict[str, t.Any]:
    text = yaml.safe_dump(example(changes), sort_keys=False)
    return make_plan(text, "config.yaml", {"container_engine": "docker", **options}, nodes(hosts), "now")


def argv_of(plan: dict[str, t.Any], node: int = 0) -> list[str]:
    assert plan["faults"] == []
    return list(plan["nodes"][node]["argv"])


def test_golden_plan() -> None:
    plan = planned()
    path = ROOT / f"tests/data/plans/torchtitan/{BY_NAME}.json"
    assert {seam: choice["name"] for seam, choice in plan.pop("chosen").items()} == {
        "format": "torchtitan_run",
        "trainer": "torchtitan",
        "log_grammar": "torchtitan",
    }
    if os.environ.get("UPDATE_GOLDEN_PLANS"):
        path.write_text(json.dumps(plan, indent=2, ensure_ascii=False) + "\n", "utf-8")
    assert plan == json.loads(path.read_text("utf-8"))


def test_the_config_is_named_and_ranks_are_static() -> None:
    argv = argv_of(planned(), 1)
    assert argv[argv.index("--node_rank") + 1] == "1"
    assert argv[argv.index("--master_addr") + 1] == "10.0.0.10"
    assert argv[argv.index("-m") :] == [
        *("-m", "torchtitan.train", "--module", "llama3", "--config", "llama3_8b"),
        *("--hf_assets_path", "/data/Llama-3.1-8B", "--training.steps", "100", "--metrics.log_freq", "1"),
        *("--compile.enable", "--dump_folder", "/home/amd/LOG_DIR/now-llama3_8b-MI355X/gpu1/outputs"),
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (False, ["--compile.no-enable"]),
        ("model,loss", ["--compile.enable", "model,loss"]),
        (["model", "loss"], ["--compile.enable", "model,loss"]),
        (-1, ["--compile.enable=-1"]),
        (0.0003, ["--compile.enable", "0.0003"]),
        ("", ["--compile.enable="]),
    ],
)
def test_values_are_written_as_the_command_line_takes_them(value: t.Any, words: list[str]) -> None:
    argv = argv_of(planned({"overrides/compile.enable": value}))
    place = argv.index(words[0])
    assert argv[place : place + len(words)] == words
    assert argv[place + len(words)].startswith("--dump_folder")


def test_a_module_anywhere_is_named_by_its_path() -> None:
    argv = argv_of(planned({"module": "torchtitan_neuron.models.qwen3", "config": "qwen3_8b_tp4_fsdp16_sac"}))
    assert argv[argv.index("--module") + 1] == "torchtitan_neuron.models.qwen3"


def test_what_replaces_the_configs_values_is_known_and_the_rest_is_not() -> None:
    parameters = planned()["parameters"]
    assert (parameters["iterations"], parameters["steps_per_line"]) == (100, 1)
    assert (parameters["tensor_parallelism"], parameters["global_batch_size"]) == (None, None)
    sizes = {
        "overrides/parallelism": {"tensor_parallel_degree": 4},
        "overrides/training": {"steps": 100, "num_tokens_per_train_step": 2**20, "max_context_length": 8192},
    }
    plan = planned(sizes)
    assert (plan["parameters"]["tensor_parallelism"], plan["parameters"]["data_parallelism"]) == (4, 4)
    assert plan["tokens_per_step_per_gpu"] == 2**16
    older = planned({"overrides/training": {"steps": 100, "global_batch_size": 32, "seq_len": 8192}})
    assert older["tokens_per_step_per_gpu"] == 32 * 8192 / 16


@pytest.mark.parametrize(
    ("config", "precision"),
    [("llama3_8b", "bf16"), ("llama3_8b_mxfp8", "mxfp8"), ("deepseek_v3_671b_float8", "fp8")],
)
def test_precision(config: str, precision: str) -> None:
    assert planned({"config": config})["parameters"]["precision"] == precision


def test_a_batch_that_is_left_to_the_other_sizes_is_not_known() -> None:
    plan = planned({"overrides/training.global_batch_size": -1})
    assert plan["faults"] == []
    assert plan["parameters"]["global_batch_size"] is None


def test_with_a_pipeline_the_rank_that_knows_the_loss_is_logged_too() -> None:
    argv = argv_of(planned({"overrides/parallelism": {"pipeline_parallel_degree": 2}}))
    assert argv[argv.index("--local-ranks-filter") + 1] == "0,7"


def test_overrides_of_a_run_go_before_those_of_the_file() -> None:
    overrides = {"training.steps": 20, "trainops.log_dir": "/logs", "config": "llama3_70b", "overrides.debug.seed": 1}
    plan = planned(training_overrides=overrides)
    argv = argv_of(plan)
    assert argv[argv.index("--config") + 1] == "llama3_70b"
    assert argv[argv.index("--training.steps") + 1] == "20"
    assert argv[argv.index("--debug.seed") + 1] == "1"
    assert plan["nodes"][0]["run_folder"].startswith("/logs/")


def test_objects_in_the_overrides_of_a_run_are_sections_as_in_the_file() -> None:
    plan = planned(training_overrides={"training": {"steps": 5}, "overrides": {"debug": {"seed": 1}}})
    argv = argv_of(plan)
    assert [argv[argv.index(name) + 1] for name in ("--training.steps", "--debug.seed")] == ["5", "1"]
    assert plan["parameters"]["iterations"] == 5


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        ({"debug": {"seeds": [{"a": 1}]}}, 'training_overrides["debug.seeds"]'),
        ({"training": {"steps": 5}, "overrides.training.steps": 6}, 'training_overrides["overrides.training.steps"]'),
        ({"overrides": 5}, "overrides"),
    ],
)
def test_overrides_of_a_run_that_have_no_place_are_faults(overrides: dict[str, t.Any], key: str) -> None:
    assert only(planned(training_overrides=overrides)["faults"])["key"] == key


def test_a_tokenizer_can_be_fetched_first() -> None:
    changes = {"overrides/hf_assets_path": "./assets/hf/Llama-3.1-8B", "trainops/tokenizer": "meta-llama/Llama-3.1-8B"}
    plan = planned(changes)
    assert argv_of(plan)[2:6] == ["python3", "meta-llama/Llama-3.1-8B", "./assets/hf", "torchrun"]
    assert set(plan["nodes"][0]["files"]) == {"with_tokenizer.sh"}


def test_checkpoints_that_all_nodes_share_are_where_it_goes_on_from() -> None:
    changes = {"overrides/checkpoint.enable": True, "overrides/dump_folder": "/shared/run"}
    assert planned(changes)["checkpoints"] == "/shared/run/checkpoint"
    assert "overrides.dump_folder" in [
        found["key"] for found in planned({"overrides/checkpoint.enable": True})["warnings"]
    ]


def test_without_an_image_it_trains_on_the_hosts() -> None:
    plan = planned(
        {"trainops/container_image": None}, container_engine="auto", training_torchtitan_python="/opt/bin/python"
    )
    assert plan["container_engine"] == "none"
    assert argv_of(plan)[:3] == ["/opt/bin/python", "-m", "torch.distributed.run"]


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"module": "a module"}, "module"),
        ({"config": "a name"}, "config"),
        ({"overrides": [1]}, "overrides"),
        ({"overrides/training": {"steps": [[1]]}}, "overrides.training.steps"),
        ({"overrides/metrics": {"log_freq": 2}}, "overrides.metrics.log_freq"),
        ({"overrides/metrics": {"log_freq": 0}}, "overrides.metrics.log_freq"),
        ({"overrides/training.steps": "abc"}, "overrides.training.steps"),
        ({"overrides/training.steps": "9" * 5000}, "overrides.training.steps"),
        ({"overrides/training.seq_len": -4096}, "overrides.training.seq_len"),
        ({"overrides/training.max_context_length": -1}, "overrides.training.max_context_length"),
        ({"overrides/training.num_tokens_per_train_step": "many"}, "overrides.training.num_tokens_per_train_step"),
        ({"overrides/training.global_batch_size": -2}, "overrides.training.global_batch_size"),
        ({"overrides/a b": 1}, 'overrides["a b"]'),
        ({"overrides/metrics.wandb_api_key": "x"}, "overrides.metrics.wandb_api_key"),
        ({"overrides/parallelism.tensor_parallel_degree": 3}, "overrides.parallelism.tensor_parallel_degree"),
        ({"trainops/log_dir": "logs"}, "trainops.log_dir"),
        ({"trainops/container_image": None}, "trainops.container_image"),
        ({"trainops/container_image": "<changeme>"}, "trainops.container_image"),
        ({"trainops/tokenizer": "meta-llama/Llama-3.2-1B"}, "overrides.hf_assets_path"),
        ({"trainops/tokenizer": "a/Llama-3.1-8B", "overrides/hf_assets_path": None}, "overrides.hf_assets_path"),
        (
            {"trainops/tokenizer": "a/Llama-3.1-8B", "overrides/hf_assets_path": "<changeme>"},
            "overrides.hf_assets_path",
        ),
        ({"steps": 3}, "steps"),
        ({"overrides/fault_tolerance": {"enable": True, "group_size": 2}}, "overrides.fault_tolerance.group_size"),
    ],
)
def test_what_cannot_run_is_a_fault(changes: dict[str, t.Any], key: str) -> None:
    assert only(planned(changes)["faults"])["key"] == key


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"overrides/hf_assets_path": None, "trainops/torchtitan_root": None}, "overrides.hf_assets_path"),
        ({"overrides/metrics.log_freq": 60}, "overrides.metrics.log_freq"),
        ({"module": "llma3"}, "module"),
        ({"config": "llama3_8b_fp7"}, "config"),
        ({"module": "torchtitan.models.llama3", "config": "llama3_8bb"}, "config"),
        ({"overrides/fault_tolerance.enable": True}, "overrides.fault_tolerance.enable"),
    ],
)
def test_what_can_go_wrong_is_a_warning(changes: dict[str, t.Any], key: str) -> None:
    plan = planned(changes)
    assert plan["faults"] == []
    assert key in [warning["key"] for warning in plan["warnings"]]


def test_degrees_that_few_trainings_have_are_parameters_where_they_are_given() -> None:
    assert {"context_parallelism", "expert_parallelism"}.isdisjoint(planned()["parameters"])
    degrees = {"parallelism.context_parallel_degree": 2, "parallelism.expert_parallel_degree": 8}
    parameters = planned({f"overrides/{name}": degree for name, degree in degrees.items()})["parameters"]
    assert (parameters["context_parallelism"], parameters["expert_parallelism"]) == (2, 8)


def test_a_name_that_seems_misspelled_has_the_nearest_one_in_its_warning() -> None:
    remedies = {warning["key"]: warning["remedy"] for warning in planned({"module": "llma3"})["warnings"]}
    assert "llama3" in remedies["module"]
    elsewhere = {"module": "my_titan.models.qwen3", "config": "my_qwen3"}
    assert {"module", "config"}.isdisjoint(warning["key"] for warning in planned(elsewhere)["warnings"])


def test_the_address_of_the_file_is_asked_for() -> None:
    text = yaml.safe_dump(example({"trainops/master_address": "10.0.0.11"}))
    assert asked_by(text, "c.yaml", {}, 2) == (None, "10.0.0.11")


@pytest.mark.slow
def test_no_value_whatever_breaks_a_plan() -> None:
    """Every key is left out once, and gets one of the values; the next key gets the next."""
    config = example()
    for path, value in zip(paths_of(config), itertools.cycle([*ANYTHING, "${a", "a: b"]), strict=False):
        for changed in (without(config, path), with_value(config, path, value)):
            text = json.dumps(changed)
            check_promises(make_plan(text, "c.yaml", {"training_framework": "torchtitan"}, nodes(2)))
            check_promises(make_plan(yaml.safe_dump(changed), "c.yaml", {}, nodes(2)))
