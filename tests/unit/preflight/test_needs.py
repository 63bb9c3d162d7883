from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from preflight_cases import LIBRARY, plan_of

from ansible_collections.trainops.cluster.plugins.filter.preflight_needs import preflight_needs
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.needs import needs_of, path_on_node


def test_a_container_needs_its_mounts_and_devices() -> None:
    needs = needs_of(plan_of(), "gpu02")
    assert (needs["master_address"], needs["master_port"]) == ("192.168.1.1", 6000)
    assert needs["image"] == "rocm/megatron-lm:v25.5_py310"
    assert needs["cache_folder"] == "/home/ops/cache"
    assert {LIBRARY, "/dev/kfd", "/dev/infiniband", "/home/ops/cache"} <= set(needs["paths"])
    assert len(needs["paths"]) == len(set(needs["paths"]))


def test_without_a_container_the_script_is_needed_and_no_image() -> None:
    needs = needs_of(plan_of(engine="none"), "gpu01")
    assert needs["image"] is None
    assert "/workspace/Megatron-LM/examples/llama/train_llama3.sh" in needs["paths"]
    assert LIBRARY not in needs["paths"]


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


def test_the_filter_says_what_is_wrong() -> None:
    assert preflight_needs(plan_of(), "gpu01") == needs_of(plan_of(), "gpu01")
    with pytest.raises(AnsibleFilterError, match="needs a plan"):
        preflight_needs("plan.json", "gpu01")
    with pytest.raises(AnsibleFilterError, match="cannot find the node") as caught:
        preflight_needs(plan_of(), "gpu09")
    assert str(caught.value.__cause__) == "the plan has no node gpu09"
