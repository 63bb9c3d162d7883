"""A cluster file of CVS, as a user gives it to Ansible."""

from __future__ import annotations

import getpass
import json
from pathlib import Path

import pytest
from ansible_commands import ROOT, run
from inventory_runs import in_play_order, listed, planned_nodes
from test_cluster_file import CLUSTER
from training_configs import DISTRIBUTED, filled


@pytest.fixture
def cluster_file(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(CLUSTER))
    return path


def test_the_file_itself_is_an_inventory(cluster_file: Path) -> None:
    inventory = listed(cluster_file)
    assert in_play_order(cluster_file) == ["192.0.2.12", "192.0.2.11", "gpu13.example.org"]
    assert inventory["racks"]["children"] == ["rack_02", "rack_01"]
    assert inventory["rack_01"]["hosts"] == ["192.0.2.11", "gpu13.example.org"]
    head = inventory["hostvars"]["192.0.2.12"]
    assert head["ansible_user"] == getpass.getuser()
    assert head["training_address"] == "198.51.100.12"
    assert head["training_topology"] == "rack-02"
    assert "of-the-switches" not in json.dumps(inventory)


def test_a_file_that_names_it_constructs_variables_and_groups_and_keeps_the_order(cluster_file: Path) -> None:
    source = cluster_file.with_name("my.cvs_cluster.yml")
    source.write_text(
        "plugin: trainops.cluster.cvs_cluster\n"
        "cluster_file: cluster.json\n"
        "compose: {container_engine: \"'podman'\", training_gpus_per_node: 4 * 2}\n"
        "groups: {last: inventory_hostname is match('gpu13')}\n"
        "keyed_groups: [{key: ansible_user, prefix: as}]\n"
    )
    inventory = listed(source)
    assert inventory["last"]["hosts"] == ["gpu13.example.org"]
    assert inventory[f"as_{getpass.getuser()}"]["hosts"] == ["192.0.2.12", "192.0.2.11", "gpu13.example.org"]
    assert inventory["hostvars"]["192.0.2.11"]["container_engine"] == "podman"
    assert inventory["hostvars"]["192.0.2.11"]["training_gpus_per_node"] == 8
    assert in_play_order(source) == ["192.0.2.12", "192.0.2.11", "gpu13.example.org"]


def test_the_example_is_a_cluster_file() -> None:
    assert listed(ROOT / "examples/cluster.json")["rack_01"]["hosts"] == ["192.0.2.11", "192.0.2.13"]


def test_a_plan_takes_rank_0_the_racks_and_the_address_from_it(cluster_file: Path, tmp_path: Path) -> None:
    nodes = {**CLUSTER["node_dict"], "192.0.2.14": {"vpc_ip": "198.51.100.14", "rack_id": "rack-02"}}
    cluster_file.write_text(json.dumps({**CLUSTER, "node_dict": nodes}))
    config = tmp_path / "config.json"
    config.write_text(json.dumps(filled(DISTRIBUTED, {"config/nnodes": "4"})))
    planned = planned_nodes(tmp_path, cluster_file, config, training_model="llama3_1_8b", training_gpu="mi300x")
    assert [node["node"] for node in planned] == ["192.0.2.12", "192.0.2.14", "192.0.2.11", "gpu13.example.org"]
    assert [node["node_rank"] for node in planned] == [0, 1, 2, 3]
    assert {node["master_address"] for node in planned} == {"198.51.100.12"}


@pytest.mark.parametrize("name", ["cluster.json", "my.cvs_cluster.yml"])
def test_what_is_wrong_with_it_is_told_at_once_and_fails(cluster_file: Path, name: str) -> None:
    cluster_file.write_text(
        json.dumps({**CLUSTER, "username": "<changeme>", "node_dict": {"{ip}": {"vpc_ip": "{ip}"}}})
    )
    cluster_file.with_name("my.cvs_cluster.yml").write_text(
        "plugin: trainops.cluster.cvs_cluster\ncluster_file: cluster.json\n"
    )
    done = run("ansible-playbook", "playbooks/plan.yml", "-i", str(cluster_file.with_name(name)))
    assert done.returncode != 0
    told = done.stdout + done.stderr
    assert "3 errors in" in told
    assert "username still contains <changeme>" in told
    assert "{ip} is a placeholder" in told
    assert "Traceback" not in told


def test_a_file_that_names_none_or_a_missing_one_says_so(tmp_path: Path) -> None:
    source = tmp_path / "cvs_cluster.yml"
    source.write_text("plugin: trainops.cluster.cvs_cluster\n")
    assert "does not set cluster_file" in run("ansible-inventory", "-i", str(source), "--list").stderr
    source.write_text("plugin: trainops.cluster.cvs_cluster\ncluster_file: gone.json\n")
    assert "gone.json cannot be read: No such file" in run("ansible-inventory", "-i", str(source), "--list").stderr


def test_a_json_file_of_ansibles_own_format_is_read_too(tmp_path: Path) -> None:
    source = tmp_path / "hosts.json"
    source.write_text(json.dumps({"all": {"hosts": {"gpu2": {"rack": 1}, "gpu1": {}}}}))
    assert listed(source)["hostvars"]["gpu2"]["rack"] == 1
    assert in_play_order(source) == ["gpu2", "gpu1"]
    source.write_text('{"all": ')
    assert "hosts.json" in run("ansible-inventory", "-i", str(source), "--list").stderr
