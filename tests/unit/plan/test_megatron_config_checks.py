from __future__ import annotations

import typing as t

import pytest
from training_configs import DISTRIBUTED, REMOVED, SINGLE, TINY, example, filled, keys, only, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node


@pytest.mark.parametrize(("nnodes", "hosts", "words"), [("3", 4, "4 inventory hosts:"), (8, 1, "1 inventory host:")])
def test_nnodes_has_to_agree_with_the_inventory(nnodes: object, hosts: int, words: str) -> None:
    fault = only(planned(filled(DISTRIBUTED, {"config/nnodes": nnodes}), hosts)["faults"])
    assert (fault["key"], fault["value"]) == ("config.nnodes", int(str(nnodes)))
    assert fault["message"].startswith(f"nnodes is {nnodes}, but the run has {words}")
    assert "gpu0" in fault["message"]
    assert fault["remedy"].startswith(f"Set nnodes to {hosts}, or choose other hosts")


@pytest.mark.parametrize("key", ["nccl_ib_hca_list", "nccl_ib_hca"])
def test_devices_that_stand_there_twice_are_a_fault(key: str) -> None:
    changes = {"config/nccl_ib_hca_list": REMOVED, f"config/{key}": "a,b,a,c,c,a"}
    faults = planned(filled(DISTRIBUTED, changes))["faults"]
    assert [(fault["key"], fault["value"], fault["message"]) for fault in faults] == [
        (f"config.{key}", "a,b,a,c,c,a", "a is listed 3 times."),
        (f"config.{key}", "a,b,a,c,c,a", "c is listed 2 times."),
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rocm_dir", "/opt/rocm"),
        ("rocm_dir", 5),
        ("scripts_dir", "/tmp/x"),
        ("verify_network_errors", "True"),
        ("hca_id_pattern", "bnxt_|rocep"),
    ],
)
def test_a_key_without_effect_is_a_warning_whatever_it_holds(key: str, value: object) -> None:
    plan = planned(filled(DISTRIBUTED, {f"config/{key}": value}))
    assert plan["faults"] == []
    warning = only(plan["warnings"])
    assert (warning["key"], warning["value"]) == (f"config.{key}", value)
    assert warning["message"] == f"{key} has no effect: nothing here reads it."


@pytest.mark.parametrize(("key", "value"), [("verify_network_errors", "False"), ("rocm_dir", "")])
def test_a_key_without_effect_that_asks_for_nothing_is_none(key: str, value: object) -> None:
    assert planned(filled(DISTRIBUTED, {f"config/{key}": value}))["warnings"] == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("master_address", "10.0.0.99"),
        ("nccl_ib_hca_list", "a,a"),
        ("nccl_ib_hca", "a;b"),
        ("nccl_socket_ifname", "eth0"),
        ("gloo_socket_ifname", ""),
        ("nccl_ib_gid_index", "x"),
    ],
)
def test_in_single_node_mode_keys_of_the_network_have_no_effect(key: str, value: str) -> None:
    plan = planned(filled(SINGLE, {f"config/{key}": value}))
    assert plan["faults"] == []
    warning = only(plan["warnings"])
    assert (warning["key"], warning["value"]) == (f"config.{key}", value)
    assert warning["message"] == f"{key} has no effect: in single-node mode every node runs its own job."


@pytest.mark.parametrize("value", ["<changeme>", "auto", "localhost", "127.0.0.1", None])
def test_in_single_node_mode_a_harmless_master_address_is_nothing_to_tell(value: str | None) -> None:
    plan = planned(filled(SINGLE, {"config/master_address": value}))
    assert (plan["faults"], plan["warnings"]) == ([], [])


@pytest.mark.parametrize(
    ("key", "options"),
    [
        ("nccl_ib_hca", {}),
        ("data_path", {}),
        ("dataset_source", {}),
        ("distributed_training", {}),
        ("megatron_root", {"training_megatron_root": "/opt/megatron"}),
    ],
)
@pytest.mark.parametrize("value", ["<changeme>", "/x/<changeme>"])
def test_what_the_run_does_not_use_need_not_be_filled_in(key: str, options: dict[str, t.Any], value: str) -> None:
    plan = planned(filled(DISTRIBUTED, {f"config/{key}": value}), **options)
    assert (plan["faults"], plan["warnings"]) == ([], [])


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("nccl_ib_hca", {"config/nccl_ib_hca_list": None}),
        ("data_path", {"config/mock_data": "False"}),
        ("megatron_root", {}),
        ("data_cache_dir", {}),
        ("container_name", {}),
    ],
)
def test_what_the_run_uses_has_to_be_filled_in(key: str, changes: dict[str, object]) -> None:
    fault = only(planned(filled(DISTRIBUTED, {**changes, f"config/{key}": "/x/<changeme>"}))["faults"])
    assert (fault["key"], fault["message"]) == (f"config.{key}", f"{key} still contains <changeme>.")


def test_what_the_seeds_leave_to_be_filled_in() -> None:
    assert keys(planned(example(SINGLE))["faults"]) == ["config.nnodes", "config.training_iterations"]
    found = keys(planned(example(DISTRIBUTED))["faults"])
    config = [key for key, value in example(DISTRIBUTED)["config"].items() if value == "<changeme>"]
    results = "model_params.multi_node.llama3_1_8b.mi300x.result_dict"
    expected = {*(f"config.{key}" for key in config), f"{results}.throughput_per_gpu", f"{results}.tokens_per_gpu"}
    assert set(found) == expected
    assert len(found) == len(expected)


@pytest.mark.parametrize("key", ["nccl_socket_ifname", "gloo_socket_ifname"])
def test_an_interface_that_is_not_named_is_a_warning(key: str) -> None:
    warning = only(planned(filled(DISTRIBUTED, {f"config/{key}": REMOVED}))["warnings"])
    assert warning["key"] == f"config.{key}"
    assert "ens51np0" in warning["message"]


def test_two_nodes_are_enough_for_a_network_and_a_shared_cache_to_matter() -> None:
    changes = {
        "config/nnodes": "2",
        "config/data_cache_dir": "/cache",
        **dict.fromkeys(("config/nccl_ib_hca_list", "config/nccl_socket_ifname"), REMOVED),
    }
    found = keys(planned(filled(DISTRIBUTED, changes), 2)["warnings"])
    assert found == ["config.nccl_ib_hca_list", "config.nccl_socket_ifname", "config.data_cache_dir"]


def test_rdma_devices_that_are_not_named_are_a_warning() -> None:
    warning = only(planned(filled(DISTRIBUTED, {"config/nccl_ib_hca_list": REMOVED}))["warnings"])
    assert warning["key"] == "config.nccl_ib_hca_list"
    assert "first eight of 'rdma link'" in warning["message"]


def test_nothing_of_the_network_is_asked_for_on_one_node_or_on_one_machine() -> None:
    removed = dict.fromkeys(
        ("config/nccl_ib_hca_list", "config/nccl_socket_ifname", "config/gloo_socket_ifname"), REMOVED
    )
    assert planned(filled(DISTRIBUTED, {**removed, "config/nnodes": "1"}), 1)["warnings"] == []
    local = [Node(f"node{number}", f"node{number}", "me", local=True) for number in range(2)]
    changes = {**removed, "config/nnodes": "2", "config/master_address": "auto"}
    plan = planned(filled(DISTRIBUTED, changes), local)
    assert (plan["faults"], plan["warnings"]) == ([], [])
    assert plan["nodes"][0]["env"]["MASTER_ADDR"] == "localhost"
    tiny = planned(
        TINY.read_text("utf-8"),
        local,
        training_model="",
        training_gpu="",
        training_gpus_per_node=1,
        container_engine="none",
        training_megatron_root="/the/embedded/trainer",
    )
    assert (tiny["faults"], tiny["warnings"]) == ([], [])


@pytest.mark.parametrize(
    ("nic_type", "index", "warned"),
    [("thor2", "1", True), ("Broadcom", 0, True), ("thor2", "3", False), (None, "1", False)],
)
def test_a_gid_index_that_is_not_usual_for_the_card_is_a_warning(
    nic_type: str | None, index: object, warned: bool
) -> None:
    plan = planned(filled(DISTRIBUTED, {"config/nic_type": nic_type, "config/nccl_ib_gid_index": index}))
    assert plan["faults"] == []
    assert keys(plan["warnings"]) == (["config.nccl_ib_gid_index"] if warned else [])
    assert plan["nodes"][0]["env"]["NCCL_IB_GID_INDEX"] == str(index)


@pytest.mark.parametrize("value", [REMOVED, None])
def test_real_data_without_a_dataset_is_a_fault(value: object) -> None:
    changes = {"config/mock_data": "False", **({} if value is REMOVED else {"config/data_path": value})}
    fault = only(planned(filled(DISTRIBUTED, changes))["faults"])
    assert (fault["key"], fault["message"]) == (
        "config.data_path",
        "mock_data is False, but data_path is not set.",
    )


def test_a_wrong_path_of_the_dataset_is_the_only_fault() -> None:
    changes = {"config/mock_data": "False", "config/data_path": "relative"}
    assert keys(planned(filled(DISTRIBUTED, changes))["faults"]) == ["config.data_path"]


WIKI = {"dataset": "wiki", "data_dir": "/home/{user-id}/data"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "mock_data is True"),
        ({"config/mock_data": "0", "config/data_path": "/home/{user-id}/x"}, "data_path names an existing dataset"),
    ],
)
@pytest.mark.parametrize("value", [WIKI, {"a": "<changeme>"}, "x"])
def test_a_dataset_source_that_nothing_reads_is_a_warning_whatever_it_holds(
    changes: dict[str, object], reason: str, value: object
) -> None:
    plan = planned(filled(DISTRIBUTED, {**changes, "config/dataset_source": value}))
    assert plan["faults"] == []
    warning = only(plan["warnings"])
    assert (warning["key"], warning["value"]) == ("config.dataset_source", value)
    assert warning["message"] == f"dataset_source has no effect: {reason}."
    assert "dataset" not in plan["nodes"][0]


@pytest.mark.parametrize("value", [{}, None, REMOVED])
def test_an_empty_dataset_source_is_none(value: object) -> None:
    assert planned(filled(DISTRIBUTED, {"config/dataset_source": value}))["warnings"] == []
    changes = {"config/mock_data": "False", "config/dataset_source": value}
    assert "config.data_path" in keys(planned(filled(DISTRIBUTED, changes))["faults"])


@pytest.mark.parametrize(
    ("value", "key", "message"),
    [
        ({"dataset": "wiki"}, "config.dataset_source.data_dir", "data_dir is missing."),
        ({"data_dir": "/home/x"}, "config.dataset_source.dataset", "dataset is missing."),
        (
            {"dataset": "pile", "data_dir": "/home/x"},
            "config.dataset_source.dataset",
            "dataset is 'pile', which is not one of the allowed values.",
        ),
        (
            {"dataset": "wiki", "data_dir": "x"},
            "config.dataset_source.data_dir",
            "data_dir is 'x', which is not an absolute path without : and commas.",
        ),
        (
            {"dataset": "wiki", "data_dir": "<changeme>"},
            "config.dataset_source.data_dir",
            "data_dir still contains <changeme>.",
        ),
        ({**WIKI, "data_dri": "/x"}, "config.dataset_source.data_dri", "'data_dri' is not a known key."),
        ("wiki", "config.dataset_source", "dataset_source is 'wiki', not an object."),
    ],
)
def test_a_dataset_source_that_is_wrong_is_the_only_fault(value: object, key: str, message: str) -> None:
    changes = {"config/mock_data": "False", "config/dataset_source": value}
    fault = only(planned(filled(DISTRIBUTED, changes))["faults"])
    assert (fault["key"], fault["message"]) == (key, message)


def test_a_folder_of_the_dataset_that_no_mount_brings_into_the_container_is_a_warning() -> None:
    changes = {"config/mock_data": "False", "config/dataset_source": {**WIKI, "data_dir": "/data"}}
    warning = only(planned(filled(DISTRIBUTED, changes))["warnings"])
    assert (warning["key"], warning["value"]) == ("config.dataset_source.data_dir", "/data")
    changes["config/dataset_source"] = {**WIKI, "data_dir": "/home/{user-id}/data"}
    assert planned(filled(DISTRIBUTED, changes))["warnings"] == []


def test_paths_that_no_mount_brings_into_the_container_are_warnings() -> None:
    changes = {"config/data_cache_dir": "/cache", "config/mock_data": "0", "config/data_path": "/data/text"}
    plan = planned(filled(DISTRIBUTED, changes))
    assert plan["faults"] == []
    assert keys(plan["warnings"]) == ["config.data_cache_dir", "config.data_path"]
    assert keys(planned(filled(DISTRIBUTED, changes), container_engine="none")["warnings"]) == ["container_engine"]
    assert keys(planned(filled(SINGLE, changes))["warnings"]) == ["config.data_path"]


@pytest.mark.parametrize(
    ("distributed", "options", "reason"),
    [
        ("False", {}, "the file offers only multi_node"),
        ("0", {"training_mode": "multi_node"}, "the file offers only multi_node"),
    ],
)
def test_distributed_training_that_contradicts_the_mode_is_a_warning(
    distributed: str, options: dict[str, t.Any], reason: str
) -> None:
    warning = only(planned(filled(DISTRIBUTED, {"config/distributed_training": distributed}), **options)["warnings"])
    assert warning["message"] == f"distributed_training has no effect: {reason}."
    assert warning["remedy"] == "Set it to True, or leave it out."


def test_distributed_training_that_an_option_overrides_is_a_warning() -> None:
    config = filled(DISTRIBUTED)
    config["model_params"]["single_node"] = config["model_params"]["multi_node"]
    found = planned(config, training_mode="single_node")["warnings"]
    assert "config.distributed_training" in keys(found)
    assert found[0]["message"] == "distributed_training has no effect: training_mode is single_node."


def test_a_missing_section_is_one_fault_and_the_branch_is_checked_all_the_same() -> None:
    changes = {"config": REMOVED, "model_params/multi_node/llama3_1_8b/mi300x/batch_size": "x"}
    assert keys(planned(filled(DISTRIBUTED, changes))["faults"]) == [
        "config",
        "model_params.multi_node.llama3_1_8b.mi300x.batch_size",
    ]


def test_a_key_in_the_wrong_place_is_told_its_own() -> None:
    changes = {
        "config/batch_size": "1",
        "config/tokens_per_gpu": "1",
        "model_params/multi_node/llama3_1_8b/mi300x/nnodes": "4",
        "training_iterations": "30",
    }
    faults = planned(filled(DISTRIBUTED, changes))["faults"]
    assert {fault["key"]: fault["remedy"] for fault in faults} == {
        "training_iterations": "It belongs in config.",
        "config.batch_size": "It belongs in model_params.<mode>.<model>.<gpu>.",
        "config.tokens_per_gpu": "It belongs in result_dict.",
        "model_params.multi_node.llama3_1_8b.mi300x.nnodes": "It belongs in config.",
    }


def test_unknown_keys_are_lowered_to_warnings_everywhere() -> None:
    changes = {
        "unheard_of": 1,
        "config/Nnodes": 1,
        "config/container_config/devices": 1,
        "model_params/both": 1,
        "model_params/multi_node/llama3_1_8b/mi300x/batch_sise": 1,
        "model_params/multi_node/llama3_1_8b/mi300x/result_dict/speed": 1,
    }
    strict = planned(filled(DISTRIBUTED, changes))
    lowered = planned(filled(DISTRIBUTED, changes), training_unknown_keys="warn")
    assert len(strict["faults"]) == len(changes)
    assert lowered["faults"] == []
    assert sorted(keys(lowered["warnings"])) == sorted(keys(strict["faults"]))
    assert len(lowered["nodes"]) == 4


@pytest.mark.parametrize("written", ["auto", "AUTO"])
def test_an_index_that_is_left_open_is_not_given_to_the_script_and_is_told(written: str) -> None:
    plan = planned(filled(DISTRIBUTED, {"config/nccl_ib_gid_index": written}))
    assert "NCCL_IB_GID_INDEX" not in plan["nodes"][0]["env"]
    assert keys(plan["warnings"]) == ["config.nccl_ib_gid_index"]


def test_a_level_of_nccl_that_hides_the_network_is_no_warning_since_the_ports_count_what_they_move():
    config = filled(DISTRIBUTED, {"config/nccl_debug": "ERROR"})
    assert planned(config)["warnings"] == []
