"""MaxText's high-performance scripts: the training of each, by its name in a training config."""

from __future__ import annotations

import math
import typing as t

import pytest
import yaml
from gke_configs import ON_GKE, on_gke
from maxtext_configs import SCRIPT_BRANCH, planned, script
from training_configs import REMOVED, keys, only

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.keys import ELSEWHERE, KEYS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.scripts import SCRIPTS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.xla_flag_sets import FLAG_SETS

# The largest number of GPUs that a plan takes for a node.
_MOST_PER_NODE = 1024


def given_to_maxtext(plan: dict[str, t.Any]) -> dict[str, t.Any]:
    values = yaml.safe_load(plan["nodes"][0]["files"]["maxtext.yml"])
    assert isinstance(values, dict)
    return values


def plan_of_script(name: str) -> dict[str, t.Any]:
    """Return the plan of a config that gives nothing but a script, on the least machines that this is for."""
    keys_of = SCRIPTS[name]
    sizes = {axis: size for axis, size in keys_of.items() if axis.endswith("_parallelism") and size > 0}
    within = math.prod(size for axis, size in sizes.items() if axis.startswith("ici_"))
    among = math.prod(size for axis, size in sizes.items() if axis.startswith("dcn_"))
    if keys_of["hardware"] == "tpu":
        among = math.ceil(within / _MOST_PER_NODE)
        within //= among
    config = script(
        {
            "config/maxtext_script": name,
            "config/nnodes": str(among),
            "model_params": {"multi_node": {"any": {"x": {}}}},
        }
    )
    return planned(config, among, training_gpus_per_node=max(within, 4), training_record_only=True)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_planned_by_its_name_alone(name: str) -> None:
    plan = plan_of_script(name)
    assert plan["faults"] == []
    assert [
        warning for warning in plan["warnings"] if warning["key"].startswith("model_params.multi_node.any.x.")
    ] == []
    values = given_to_maxtext(plan)
    assert {key: values[key] for key in SCRIPTS[name] if key != "quantization"} == {
        key: value for key, value in SCRIPTS[name].items() if key != "quantization"
    }
    variable = "XLA_FLAGS" if name.startswith("gpu/") else "LIBTPU_INIT_ARGS"
    assert all(flag in plan["nodes"][0]["env"][variable] for flag in FLAG_SETS[name])


def test_scripts_have_the_keys_of_maxtext_and_sets_of_flags() -> None:
    assert list(SCRIPTS) == list(FLAG_SETS)
    assert {key for keys_of in SCRIPTS.values() for key in keys_of} <= {*KEYS, *ELSEWHERE}


def test_what_the_file_sets_goes_before_the_script() -> None:
    changes = {
        "config/training_steps": "100",
        "config/xla_flag_set": "gpu/a3/llama_2_7b/1vm",
        f"{SCRIPT_BRANCH}/per_device_batch_size": "2",
        f"{SCRIPT_BRANCH}/max_segments_per_seq": None,
        f"{SCRIPT_BRANCH}/packing": "False",
    }
    plan = planned(script(changes))
    values = given_to_maxtext(plan)
    assert (values["steps"], values["per_device_batch_size"], values["max_target_length"]) == (100, 2, 4096)
    assert "max_segments_per_seq" not in values
    assert "xla_gpu_all_reduce_combine_threshold_bytes=134217728" in plan["nodes"][0]["env"]["XLA_FLAGS"]
    note = only([note for note in plan["notes"] if "gpu/a3/llama_2_7b/2vm" in note])
    assert "remat_policy minimal_with_context" in note
    assert "per_device_batch_size" not in note


def test_an_override_goes_before_the_script() -> None:
    plan = planned(script(), training_overrides={"remat_policy": "full", "config.training_steps": 7})
    values = given_to_maxtext(plan)
    assert (values["remat_policy"], values["steps"]) == ("full", 7)


def test_sizes_of_a_script_that_do_not_fit_the_machines_are_reported() -> None:
    plan = planned(script({"config/nnodes": "3"}), 3)
    fault = only(plan["faults"])
    assert fault["key"].startswith("model_params.multi_node.llama2-7b.h100.dcn_")
    assert "dcn_data_parallelism 2" in fault["message"]


@pytest.mark.parametrize("name", ["gpu/a3/llama_2_7b/3vm", "<changeme>", 3])
def test_a_script_that_is_not_known_is_the_only_fault(name: object) -> None:
    assert keys(planned(script({"config/maxtext_script": name}))["faults"]) == ["config.maxtext_script"]


def test_a_script_for_tpus_is_not_for_gpus() -> None:
    fault = only(planned(script({"config/maxtext_script": "tpu/v5p/128b"}), training_gpus_per_node=8)["faults"])
    assert fault["key"].endswith(".h100.hardware")


def test_a_script_on_gke_becomes_arguments() -> None:
    changes = {"config/maxtext_script": "tpu/v5p/128b", "config/xla_flag_set": REMOVED}
    model = {"default": {"v5p": {"base_output_directory": "gs://mine/out"}}}
    config = on_gke({**changes, "model_params": {"multi_node": model}, "config/training_steps": REMOVED})
    plan = planned(config, 0, **ON_GKE, training_record_only=True)
    assert plan["faults"] == []
    command = plan["gke"]["argv"][-1]
    assert " global_parameter_scale=128 " in command
    assert " steps=15 " in command


@pytest.mark.parametrize("section", ["config", "model_params"])
@pytest.mark.parametrize("value", [None, [], "x", {"multi_node": None}, {"multi_node": {"a": [1]}}])
def test_a_wrong_section_is_a_fault_beside_a_script(section: str, value: object) -> None:
    assert planned(script({section: value}), training_framework="maxtext")["faults"]
