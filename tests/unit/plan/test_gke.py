"""MaxText on GKE: the command line of XPK, and the possible errors in a config for it."""

from __future__ import annotations

import re
import shlex
import typing as t

import pytest
import yaml
from gke_configs import BRANCH, ON_GKE, PATH, on_gke
from maxtext_configs import planned
from training_configs import DISTRIBUTED, REMOVED, keys, only
from training_configs import filled as megatron_config

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.job import workload_name
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan_text import plan_text


def plan_of(changes: dict[str, t.Any] | None = None, **options: t.Any) -> dict[str, t.Any]:
    return planned(on_gke(changes), 0, **{**ON_GKE, **options})


def options_of(plan: dict[str, t.Any]) -> dict[str, list[str]]:
    """Return the options of XPK's command line, each with all of its values."""
    assert plan["faults"] == []
    argv = plan["gke"]["argv"]
    assert argv[:3] == ["xpk", "workload", "create"]
    found: dict[str, list[str]] = {}
    for name, value in zip(argv[3::2], argv[4::2], strict=True):
        found.setdefault(name, []).append(value)
    return found


def command_of(plan: dict[str, t.Any]) -> list[str]:
    return shlex.split(only(options_of(plan)["--command"]))


def test_the_command_line_of_xpk() -> None:
    plan = plan_of(training_run_id="mine")
    options = options_of(plan)
    assert {name: values for name, values in options.items() if name not in ("--env", "--command")} == {
        "--workload": ["mine"],
        "--cluster": ["mine"],
        "--project": ["lab"],
        "--zone": ["us-east5-a"],
        "--tpu-type": ["v5p-256"],
        "--num-slices": ["2"],
        "--docker-image": ["gcr.io/lab/maxtext:0.2.5"],
    }
    flags = only(options["--env"])
    assert flags.startswith("LIBTPU_INIT_ARGS=--xla_tpu_enable_data_parallel_all_reduce_opt=true ")
    assert plan["nodes"] == []
    assert (plan["parameters"]["nnodes"], plan["parameters"]["data_parallelism"]) == (64, 256)


def test_what_runs_in_a_container_is_one_line_with_the_keys_of_maxtext() -> None:
    changes = {f"{BRANCH}/mlp_activations": ["silu", "linear"], f"{BRANCH}/quantization": ""}
    command = command_of(plan_of(changes))
    assert command[:4] == ["python3", "-m", "maxtext.trainers.pre_train.train", "src/maxtext/configs/base.yml"]
    assert {"steps=30", "hardware=tpu", "quantization=", 'mlp_activations=["silu","linear"]'} <= set(command)
    assert "enable_checkpointing=false" in command
    assert not any("\n" in word for word in command)


def test_the_image_tells_the_layout_of_its_maxtext() -> None:
    command = command_of(plan_of({"config/container_image": "rocm/jax-training:maxtext-v25.11"}))
    assert command[1:3] == ["src/MaxText/train.py", "src/MaxText/configs/base.yml"]
    command = command_of(plan_of(training_maxtext_entry_point="my.trainer"))
    assert command[1:4] == ["-m", "my.trainer", "src/maxtext/configs/base.yml"]


def test_dimensions_that_the_preset_has_are_no_arguments() -> None:
    # As arguments they would end MaxText, which takes them from its preset.
    assert "base_emb_dim=16384" not in command_of(plan_of({f"{BRANCH}/base_emb_dim": "16384"}))
    changes = {f"{BRANCH}/base_emb_dim": "16384", f"{BRANCH}/model_name": "default"}
    assert "base_emb_dim=16384" in command_of(plan_of(changes))


def test_variables_of_the_user_go_along_and_those_of_hosts_do_not() -> None:
    changes = {"config/env_vars": {"MINE": "a b"}, "config/nccl_debug": "INFO"}
    variables = options_of(plan_of(changes))["--env"]
    assert {"MINE=a b", "NCCL_DEBUG=INFO"} <= set(variables)
    names = {variable.split("=")[0] for variable in variables}
    assert names == {"MINE", "NCCL_DEBUG", "LIBTPU_INIT_ARGS"}


def test_what_a_value_holds_reaches_the_container_as_it_is() -> None:
    """XPK writes variables between double quotes of YAML, and Kubernetes replaces $(NAME) and $$ in commands."""
    odd = "a b \"c\" \\d $(HOME) $$ $e 'f' {g}"
    plan = plan_of({"config/env_vars": {"MINE": odd}, f"{BRANCH}/run_name": odd})
    (mine,) = [text for text in options_of(plan)["--env"] if text.startswith("MINE=")]
    kept = yaml.safe_load(f'value: "{mine.removeprefix("MINE=")}"')["value"]
    assert expanded(kept) == odd
    assert f"run_name={odd}" in shlex.split(expanded(only(options_of(plan)["--command"])))


def expanded(text: str) -> str:
    """Return the text that Kubernetes makes of a text if each variable is set."""
    return re.sub(r"\$\$|\$\(\w+\)", lambda found: "$" if found.group() == "$$" else "expanded", text)


@pytest.mark.parametrize(
    ("tpu_type", "per_node", "nnodes", "told"),
    [
        ("v5p-4x4x8", 4, 64, ""),
        ("v5p-4x4x4", 4, 64, "have 128 chips"),
        ("v6e-16x16", 4, 128, ""),
        ("v6e-256", 4, 128, ""),
        ("tpu7x-128", 8, 32, ""),
        ("tpu7x-4x4x4", 8, 32, ""),
        ("tpu7x-4x4x4", 4, 32, "have 256 devices, but nnodes × training_gpus_per_node is 32 × 4"),
    ],
)
def test_hosts_and_devices_are_those_of_the_slices(tpu_type: str, per_node: int, nnodes: int, told: str) -> None:
    changes = {"config/gke/tpu_type": tpu_type, "config/nnodes": str(nnodes)}
    faults = plan_of(changes, training_gpus_per_node=str(per_node))["faults"]
    messages = [fault["message"] for fault in faults if fault["key"] == "config.gke.tpu_type"]
    assert len(messages) == bool(told)
    assert told in "".join(messages)


def test_hosts_with_gpus_are_counted() -> None:
    changes = {
        "config/gke": {"cluster": "mine", "device_type": "h100-mega-80gb-8"},
        "config/nnodes": "2",
        "config/xla_flag_set": "gpu/a3/llama_2_7b/2vm",
        f"{BRANCH}/hardware": "gpu",
    }
    options = options_of(plan_of(changes, training_gpus_per_node="8"))
    assert (options["--device-type"], options["--num-nodes"]) == (["h100-mega-80gb-8"], ["2"])
    assert not {"--tpu-type", "--num-slices"} & set(options)


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"config/gke": REMOVED}, "config.gke", "gke is missing"),
        ({"config/gke": {"cluster": "mine"}}, "config.gke", "neither"),
        ({"config/gke/device_type": "h100-mega-80gb-8"}, "config.gke", "tpu_type or device_type, but both are set"),
        ({"config/gke/cluster": "My_Cluster"}, "config.gke.cluster", "not a name that XPK takes"),
        ({"config/gke/clutser": "mine"}, "config.gke.clutser", "not a known key"),
        ({"config/gke/priority": "urgent"}, "config.gke.priority", "not one of the allowed values"),
        (
            {"config/nnodes": "32"},
            "config.gke.tpu_type",
            "have 256 chips, but nnodes × training_gpus_per_node is 32 × 4",
        ),
        ({"config/nnodes": "100000", "config/gke/tpu_type": "v9-8"}, "config.nnodes", "more hosts than a GKE cluster"),
        ({"config/gke/num_slices": "1"}, "config.gke.tpu_type", "1 slice of v5p-256 has 128 chips"),
        ({"config/container_image": REMOVED}, "config.container_image", "runs in a container"),
        ({f"{BRANCH}/base_output_directory": REMOVED}, f"{PATH}.base_output_directory", "writes to a bucket"),
        ({f"{BRANCH}/base_output_directory": "<changeme>"}, f"{PATH}.base_output_directory", "still contains"),
        ({f"{BRANCH}/tokenizer_path": "/home/{user-id}/t"}, f"{PATH}.tokenizer_path", "on GKE there is none"),
        ({f"{BRANCH}/dcn_data_parallelism": "3"}, f"{PATH}.ici_fsdp_parallelism", "2 slices of a job"),
    ],
)
def test_what_can_be_wrong(changes: dict[str, t.Any], key: str, message: str) -> None:
    faults = plan_of(changes)["faults"]
    assert message in " ".join(fault["message"] for fault in faults)
    if "slices of a job" not in message:
        assert keys(faults) == [key]


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"training_rehearsal": True}, "training_rehearsal"),
        ({"training_mode": "single_node"}, "training_mode"),
        ({"training_run_id": "Run_1"}, "training_run_id"),
        ({"training_run_id": "r" * 41}, "training_run_id"),
    ],
)
def test_options_that_a_workload_cannot_have(options: dict[str, t.Any], key: str) -> None:
    assert key in keys(plan_of(**options)["faults"])


def test_only_maxtext_is_started_on_gke() -> None:
    plan = planned(megatron_config(DISTRIBUTED), 0, training_model="llama3_1_8b", training_gpu="mi300x", **ON_GKE)
    assert "training_platform" in keys(plan["faults"])


def test_what_only_hosts_read_is_told() -> None:
    told = [
        finding for finding in plan_of({"config/hf_token_file": "/t"})["warnings"] if "on GKE" in finding["message"]
    ]
    assert "hf_token_file" in only(told)["message"]


def test_on_hosts_the_section_is_not_read() -> None:
    config = on_gke({"config/gke": {"cluster": "<changeme>"}, "config/nnodes": "2", "config/coordinator_ip": "auto"})
    plan = planned(config, 2, training_gpus_per_node="4", training_maxtext_entry_point="m")
    assert plan["faults"] == []
    assert "gke" not in plan


def test_the_plan_shows_the_command_line() -> None:
    text = plan_text(plan_of(training_run_id="mine"))
    assert "xpk workload create \\\n    --workload mine \\\n    --cluster mine \\\n" in text
    assert "64 × 4 TPU chips, one job over all nodes" in text


@pytest.mark.parametrize(
    ("run_id", "name"),
    [
        ("20261121-115813-llama2-70b-v5p", "run-20261121-115813-llama2-70b-v5p"),
        ("20261121-115813-Llama3.1_405b-v5p.x", "run-20261121-115813-llama3-1-405b-v5p-x"),
        ("a" * 39 + ".b", "a" * 39),
        ("_", "run"),
    ],
)
def test_the_name_of_a_workload(run_id: str, name: str) -> None:
    assert workload_name(run_id) == name
