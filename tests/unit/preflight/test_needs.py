from __future__ import annotations

from preflight_cases import LIBRARY, plan_of

from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.needs import (
    FOLDER,
    inspection_of,
    machine_plan,
    path_on_node,
    shared_folder,
)


def test_a_container_needs_its_mounts_and_devices() -> None:
    plan = plan_of()
    asked = inspection_of(plan, plan["nodes"][1])
    assert (asked["master_address"], asked["master_port"]) == ("192.168.1.1", 6000)
    assert asked["image"] == "rocm/megatron-lm:v25.5_py310"
    assert {LIBRARY, "/dev/kfd", "/dev/infiniband", "/home/ops/cache"} <= set(asked["paths"])
    assert len(asked["paths"]) == len(set(asked["paths"]))


def test_without_a_container_the_script_is_needed_and_no_image() -> None:
    plan = plan_of(engine="none")
    asked = inspection_of(plan, plan["nodes"][0])
    assert asked["image"] is None
    assert "/workspace/Megatron-LM/examples/llama/train_llama3.sh" in asked["paths"]
    assert LIBRARY not in asked["paths"]


def test_a_machine_needs_nothing_but_a_folder_for_its_output() -> None:
    plan = machine_plan(["gpu01"], "docker")
    asked = inspection_of(plan, plan["nodes"][0])
    assert asked == {"paths": [FOLDER], "master_address": None, "master_port": None, "image": None}


def test_nodes_of_one_job_share_the_data_cache() -> None:
    assert shared_folder(plan_of()) == "/home/ops/cache"
    alone = plan_of(mode="single_node", master_address=None, nic_type=None, nccl_ib_hca_list=None)
    assert shared_folder(alone) is None
    assert shared_folder(machine_plan(["gpu01"], "docker")) is None


def test_a_path_in_the_container_lies_on_the_longest_mount() -> None:
    mounts = [
        {"source": "/srv", "target": "/"},
        {"source": "/nfs/cache", "target": "/data/cache"},
        {"source": "/ssd", "target": "/data"},
    ]
    paths = {path: path_on_node(mounts, path) for path in ("/data/cache/x", "/data/cache", "/data/cached", "/y")}
    assert paths == {
        "/data/cache/x": "/nfs/cache/x",
        "/data/cache": "/nfs/cache",
        "/data/cached": "/ssd/cached",
        "/y": "/srv/y",
    }
    assert path_on_node(mounts[1:], "/root/cache") is None
