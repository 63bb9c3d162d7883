from __future__ import annotations

import pytest
from training_configs import DISTRIBUTED, SINGLE, filled, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node


def test_the_runs_folder_is_mounted_where_it_is_and_the_token_comes_as_a_file() -> None:
    node = planned(filled(DISTRIBUTED), container_engine="docker")["nodes"][2]
    folder = "/home/amd/LOG_DIR/now-llama3_1_8b-mi300x/gpu2"
    assert {"source": folder, "target": folder, "staged": True} in node["mounts"]
    [secret] = node["secrets"]
    assert secret["source"] == "/home/amd/.hf_token"
    assert node["env"]["HF_TOKEN_PATH"] == secret["target"]
    path = secret["target"]
    assert {"source": path, "target": path, "read_only": True, "staged": True} in node["mounts"]


def test_a_node_that_is_named_by_its_ipv6_address_has_folders_that_can_be_mounted() -> None:
    hosts = [Node(f"fd00::{place}", f"fd00::{place}", "amd") for place in range(1, 5)]
    plan = planned(filled(DISTRIBUTED), hosts, container_engine="docker")
    assert plan["faults"] == []
    assert len({node["run_folder"] for node in plan["nodes"]}) == 4
    for node in plan["nodes"]:
        # An engine takes SOURCE:TARGET.
        assert not [mount for mount in node["mounts"] if ":" in mount["source"] + mount["target"]]
        assert node["env"]["LOG_DIR"] == node["run_folder"]
        assert node["secrets"][0]["target"] in [mount["target"] for mount in node["mounts"]]


def test_a_token_that_comes_along_with_the_run_leaves_no_path_in_the_plan() -> None:
    without = filled(DISTRIBUTED, {"config/hf_token_file": None})
    for config in (filled(DISTRIBUTED), without):
        plans = [planned(config, training_hf_token_file=path) for path in ("/runner/17/token", "/runner/18/token")]
        assert plans[0] == plans[1]
        [secret] = plans[0]["nodes"][0]["secrets"]
        assert secret["source"] == ""
        assert plans[0]["nodes"][0]["env"]["HF_TOKEN_PATH"] == secret["target"]
        assert not [warning for warning in plans[0]["warnings"] if "no token is given" in warning["message"]]


def test_without_a_container_nothing_is_mounted() -> None:
    node = planned(filled(DISTRIBUTED), container_engine="none")["nodes"][0]
    assert node["mounts"] == []


@pytest.mark.parametrize("log_dir", ["/logs", "/logs/", "/"])
def test_a_slash_at_the_end_of_log_dir_makes_no_difference(log_dir: str) -> None:
    node = planned(filled(DISTRIBUTED, {"config/log_dir": log_dir}), training_run_id="r")["nodes"][0]
    assert node["run_folder"] == f"{log_dir.rstrip('/')}/r/gpu0"


def test_no_two_nodes_write_one_file() -> None:
    for name in (DISTRIBUTED, SINGLE):
        files = [node["log_file"] for node in planned(filled(name))["nodes"]]
        assert len(set(files)) == 4
