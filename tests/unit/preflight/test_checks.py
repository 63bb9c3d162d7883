from __future__ import annotations

import json

from preflight_cases import GIB, PROBE

from ansible_collections.trainops.cluster.plugins.module_utils.node.problems import problem
from ansible_collections.trainops.cluster.plugins.plugin_utils.contracts import Call
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.check_settings import SETTINGS
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.checks import CHECKS, preflight
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.needs import FOLDER, machine_plan
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.node_errors import refused


def test_nodes_that_are_ready_have_no_red_cell(bench) -> None:
    nodes = bench(count=4)
    result = nodes.result()
    assert nodes.reds() == []
    assert result["proposals"] == {}
    assert json.loads(json.dumps(result)) == result
    of_first = [row for row in result["rows"] if row["node"] == "gpu01"]
    assert [row["check"] for row in of_first] == [check for check in CHECKS if check != "reached"]
    # These are for NVIDIA's GPUs, for several adapters in one network, and for a config with a traffic class.
    assert {row["check"] for row in of_first if row["status"] == "grey"} == {"peer", "rails", "dscp"}
    assert all(row["found"] and not row["reason"] and not row["command"] for row in result["rows"])


def test_every_red_cell_has_a_reason_and_a_command(bench) -> None:
    nodes = bench()
    nodes[2]["numa"]["auto_balancing"] = 1
    nodes[2]["limits"]["shm"]["total_bytes"] = GIB
    assert nodes.reds() == [("gpu02", "numa"), ("gpu02", "shm")]
    assert all(nodes.cell(check, 2)[key] for check in ("numa", "shm") for key in ("reason", "command", "found"))


def test_a_node_that_was_not_inspected_is_red_and_spoils_no_other(bench) -> None:
    nodes = bench(count=3)
    del nodes.facts["gpu02"]
    assert nodes.reds() == [("gpu02", "reached")]
    assert "repeat the preflight with --limit" in nodes.cell("reached", 2)["command"]


def test_a_node_where_ansible_becomes_nobody_has_a_command_for_this_node_and_inventory(bench) -> None:
    nodes = bench()
    del nodes.facts["gpu02"]
    call: Call = {"playbooks": "playbooks", "inventory": " -i hosts", "output_dir": ""}
    errors = {"gpu02": refused(problem("become_program_missing", program="/usr/bin/sudo"))}
    rows = preflight(nodes.plan, nodes.facts, errors=errors, call=call)["rows"]
    (row,) = (row for row in rows if row["status"] == "red")
    assert (row["node"], row["code"]) == ("gpu02", "not_inspected")
    assert "ansible gpu02 -i hosts " in row["command"]


def test_without_any_answer_all_nodes_are_red(bench) -> None:
    nodes = bench()
    nodes.facts.clear()
    assert nodes.reds() == [("gpu01", "reached"), ("gpu02", "reached")]


def test_a_node_by_itself_needs_no_network(bench) -> None:
    nodes = bench(count=2, mode="single_node", nnodes="2", master_address=None, nic_type=None, nccl_ib_hca_list=None)
    for number in (1, 2):
        nodes[number]["network"]["interfaces"] = {}
        nodes[number]["rdma"]["devices"] = []
    assert nodes.reds() == []
    grey = {row["check"] for row in nodes.result(None)["rows"] if row["status"] == "grey"}
    assert {"rdma", "gid", "provider", "socket", "hostname", "cache"} <= grey
    assert nodes.result(None)["proposals"] == {}


def test_what_the_config_leaves_open_is_proposed(bench) -> None:
    nodes = bench(nccl_socket_ifname=None, gloo_socket_ifname="auto", nccl_ib_gid_index=None)
    assert nodes.result()["proposals"] == {
        "nccl_socket_ifname": "ens1np0",
        "gloo_socket_ifname": "ens1np0",
        "nccl_ib_gid_index": 3,
    }
    assert nodes.code("socket", 2) == ("green", "interfaces", "proposed")
    assert (nodes.code("gid"), nodes.cell("gid")["values"]) == (("green", "gid", "proposed"), {"index": 3})


def test_nothing_is_proposed_that_the_framework_has_no_key_for(bench) -> None:
    nodes = bench(nccl_socket_ifname=None, gloo_socket_ifname=None, nccl_ib_gid_index=None)
    nodes.plan["framework"] = "nxdt"
    assert nodes.result()["proposals"] == {}
    assert nodes.code("socket", 2) == ("green", "interfaces", "")


def test_no_interface_is_proposed_that_is_called_differently_elsewhere(bench) -> None:
    nodes = bench(nccl_socket_ifname=None)
    nodes[2]["network"]["master"]["interface"] = "eno1"
    assert nodes.result()["proposals"] == {}
    assert nodes.cell("socket", 2)["status"] == "green"


FIXES = ("apt-get ", "ansible-playbook ", "docker ", "dnf ", "ip link ", "modprobe ", "mount ", "sysctl ", "systemctl ")
EDITS = ("set ", 'add "', "echo ", "timedatectl ", "rmdir ")


def spoilt(nodes) -> None:
    """Let a node fail as many checks as it can at once."""
    facts = nodes[2]
    facts["numa"]["auto_balancing"] = 1
    facts["gpus"]["devices"].pop()
    facts["gpus"]["driver"]["version"] = "6.8.5"
    facts["gpus"]["processes"] = [{"pid": 7, "command": "python3", "user": "alice", "run_id": None}]
    facts["limits"]["shm"]["total_bytes"] = GIB
    facts["kernel"] = "5.15.0-other"
    facts["clock"]["offset_seconds"] = [9.0, 9.1]
    facts["network"]["interfaces"].pop("ens1np0")
    facts["engines"]["docker"]["image"] = {"id": f"sha256:{'cd' * 32}", "digests": []}
    for device in facts["rdma"]["devices"]:
        device["kernel_abi"] = 6
        device["ports"][0]["state"] = "DOWN"
    for path in facts["paths"].values():
        path.update(kind="missing", writable=False)


def test_each_red_cell_has_a_command_that_fixes_or_says_that_a_person_must(bench) -> None:
    nodes = bench(count=3)
    spoilt(nodes)
    red = {row["check"]: row["command"] for row in nodes.result()["rows"] if row["status"] == "red"}
    assert len(red) >= 12, red
    assert {
        check: command
        for check, command in red.items()
        for part in command.split("; manual step")[:1]
        if not part.startswith(("manual step: ", *FIXES, *EDITS))
    } == {}


def test_without_a_config_machines_are_held_against_each_other(bench) -> None:
    nodes = bench(count=3)
    names = list(nodes.facts)
    plan = machine_plan(names, "docker")
    facts = {name: {**facts, "paths": {FOLDER: facts["paths"][PROBE]}} for name, facts in nodes.facts.items()}
    facts["gpu02"]["gpus"]["devices"].pop()
    facts["gpu02"]["numa"]["auto_balancing"] = 1
    facts["gpu03"]["rdma"]["devices"].pop()
    rows = preflight(plan, facts)["rows"]
    red = {(row["node"], row["check"]) for row in rows if row["status"] == "red"}
    assert red == {("gpu02", "gpus"), ("gpu02", "numa"), ("gpu03", "rdma")}
    values = {row["check"]: row["values"] for row in rows if row["status"] == "red"}
    assert values["rdma"] == {"here": {"bnxt_re": 7}, "most": {"bnxt_re": 8}, "nodes": 2, "nodes_judged": 3}
    of_config = [row for row in rows if row["check"] not in SETTINGS]
    left = [row for row in of_config if row["node"] == "gpu01" and row["status"] == "grey"]
    assert {row["check"] for row in left} == {
        "provider",
        "socket",
        "hostname",
        "port",
        "shm",
        "mounts",
        "token",
        "cache",
        "image",
    }
    assert {row["code"] for row in left} == {"no_config"}
    assert {row["check"] for row in rows} == set(CHECKS) - {"reached"}
