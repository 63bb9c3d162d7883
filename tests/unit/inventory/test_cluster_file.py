from __future__ import annotations

import json
import typing as t

from ansible_collections.trainops.cluster.plugins.plugin_utils.inventory.cluster_file import read_cluster_file
from ansible_collections.trainops.cluster.plugins.plugin_utils.inventory.hosts import Host
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings

CLUSTER: dict[str, t.Any] = {
    "_comment": "as cvs config copy writes it, with racks",
    "username": "{user-id}",
    "priv_key_file": "/home/{user-id}/.ssh/id_rsa",
    "head_node_dict": {"mgmt_ip": "192.0.2.12"},
    "env_vars": {"PATH": "/opt/rocm/bin:$PATH"},
    "node_dict": {
        "192.0.2.11": {"bmc_ip": "NA", "vpc_ip": "198.51.100.11", "rack_id": "rack-01"},
        "192.0.2.12": {"bmc_ip": "203.0.113.12", "vpc_ip": "198.51.100.12", "rack_id": "rack-02"},
        "gpu13.example.org": {"bmc_ip": "NA", "vpc_ip": "NA", "rack_id": "rack-01"},
    },
    "racks": {
        "switch_ssh_user": "admin",
        "switch_ssh_password": "of-the-switches",
        "rack-01": {"platform": "any", "switch_trays": ["203.0.113.1"]},
        "rack-02": {},
    },
}


def read(changes: dict[str, t.Any] | None = None) -> tuple[list[Host], Findings]:
    findings = Findings()
    text = json.dumps({**CLUSTER, **(changes or {})})
    return read_cluster_file(text, "cluster.json", "ann", findings), findings


def test_the_head_node_comes_first_and_the_others_in_the_order_of_the_file() -> None:
    hosts, findings = read()
    assert [host.name for host in hosts] == ["192.0.2.12", "192.0.2.11", "gpu13.example.org"]
    assert not findings.faults
    assert not findings.warnings


def test_without_a_head_node_among_the_nodes_the_order_of_the_file_holds() -> None:
    for head in ({}, {"mgmt_ip": "login.example.org"}):
        hosts, findings = read({"head_node_dict": head})
        assert [host.name for host in hosts] == list(CLUSTER["node_dict"])
        assert not findings.faults


def test_a_host_has_what_ansible_and_a_run_need_to_reach_it() -> None:
    hosts, _ = read()
    assert hosts[0].variables == {
        "ansible_host": "192.0.2.12",
        "ansible_user": "ann",
        "ansible_ssh_private_key_file": "/home/ann/.ssh/id_rsa",
        "training_address": "198.51.100.12",
        "training_node_environment": {"PATH": "/opt/rocm/bin:$PATH"},
        "cvs_bmc_ip": "203.0.113.12",
    }
    assert hosts[0].topology == ("rack-02",)
    assert hosts[2].variables["training_address"] == "gpu13.example.org"
    assert "cvs_bmc_ip" not in hosts[2].variables


def test_newer_files_say_nodes_and_head_node() -> None:
    newer = {name: value for name, value in CLUSTER.items() if name not in ("node_dict", "head_node_dict")}
    findings = Findings()
    text = json.dumps({**newer, "nodes": CLUSTER["node_dict"], "head_node": "192.0.2.12"})
    hosts = read_cluster_file(text, "cluster.json", "ann", findings)
    assert [host.name for host in hosts] == [host.name for host in read()[0]]
    assert not findings.faults


def test_all_that_is_wrong_is_told_at_once() -> None:
    nodes = {
        "{xx.xx.xx.xx|hostname}": {"vpc_ip": "{xx.xx.xx.xx|hostname}"},
        "192.0.2.11": {"vpc_ip": "two words", "rack_id": "rack-10"},
        "192.0.2.12": "198.51.100.12",
    }
    _, findings = read({"username": "<changeme>", "node_dict": nodes})
    assert [fault["key"] for fault in findings.faults] == [
        "username",
        'node_dict["{xx.xx.xx.xx|hostname}"]',
        'node_dict["{xx.xx.xx.xx|hostname}"].vpc_ip',
        'node_dict["192.0.2.11"].vpc_ip',
        'node_dict["192.0.2.11"].rack_id',
        'node_dict["192.0.2.12"]',
    ]
    assert "rack-01, rack-02" in findings.faults[4]["remedy"]


def test_a_file_without_nodes_and_one_that_is_no_json_are_told() -> None:
    _, findings = read({"node_dict": {}})
    assert [fault["message"] for fault in findings.faults] == ["It lists no nodes."]
    findings = Findings()
    assert read_cluster_file('{"username": "ann",\n "node_dict": }', "cluster.json", "ann", findings) == []
    assert findings.faults[0]["key"] == "cluster_file"
    assert "cluster.json, line 2" in findings.faults[0]["message"]
    findings = Findings()
    read_cluster_file("[]", "cluster.json", "ann", findings)
    assert "node_dict" in findings.faults[0]["remedy"]


def test_keys_that_a_later_cvs_adds_are_warnings_and_passwords_stay_where_they_are() -> None:
    hosts, findings = read({"password": "of-the-nodes", "telemetry": {}})
    assert {warning["key"] for warning in findings.warnings} == {"password", "telemetry"}
    told = repr((hosts, findings))
    assert "of-the-nodes" not in told
    assert "of-the-switches" not in told
