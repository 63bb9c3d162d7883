from __future__ import annotations

import pytest
from preflight_cases import PROBE

from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.cells import problems_of_red
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.checks import preflight
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.needs import FOLDER, machine_plan
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.table import preflight_text
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.node_errors import lost
from ansible_collections.trainops.cluster.plugins.plugin_utils.unreachable import unreachable


def text_of(nodes, **options) -> str:
    return preflight_text("run7", nodes.result(), **options)


def test_nodes_that_are_alike_stand_in_one_line(bench) -> None:
    nodes = bench(count=4)
    nodes[3]["numa"]["auto_balancing"] = 1
    lines = text_of(nodes).splitlines()
    assert lines[0] == "Preflight of run7"
    assert lines[2].split() == [
        *("gpus", "driver", "idle", "numa", "rdma", "gid", "provider", "firmware", "socket", "mtu", "hostname"),
        *("port", "clock", "limits", "shm"),
    ]
    # The port is judged on rank 0 only.
    assert [line.split()[0] for line in lines[3:6]] == ["gpu01", "gpu[02,04]", "gpu03"]
    assert lines[5].split()[1:6] == ["ok", "ok", "ok", "RED", "ok"]


def test_marks_stand_below_the_names_of_their_checks(bench) -> None:
    nodes = bench()
    nodes[2]["numa"]["auto_balancing"] = 1
    header, _, second = text_of(nodes).splitlines()[2:5]
    assert second[header.index("numa") :].startswith("RED ")
    assert second[header.index("port") :].startswith("– ")


def test_the_table_of_128_nodes_is_read_in_one_look(bench) -> None:
    nodes = bench(count=128)
    nodes[77]["gpus"]["devices"].pop()
    text = text_of(nodes)
    assert len(text.splitlines()) < 45
    assert max(map(len, text.splitlines())) <= 118
    assert "gpu[02-76,78-128]" in text


def test_nodes_whose_values_differ_share_a_reason_that_has_those_of_each(bench) -> None:
    nodes = bench(count=30)
    for number in range(1, 31):
        nodes[number]["paths"]["/home/ops/cache"]["free_inodes"] = number
    text = " ".join(text_of(nodes).split())
    assert "disk on gpu[01-30] " in text
    assert "/home/ops/cache needs room for at least 10000 more files, but has 1 on gpu01, 2 on gpu02, " in text
    assert "8 on gpu08 and 22 more. → manual step" in text


def test_many_different_reasons_are_still_readable(bench) -> None:
    nodes = bench(count=30)
    for number in range(1, 31):
        nodes[number]["engines"]["docker"]["problem"] = "x" * number
    text = text_of(nodes)
    assert text.count("engine on gpu") == 8
    assert "engine on other nodes: 22 more reasons" in text


def test_remedies_that_differ_are_told_with_their_nodes(bench) -> None:
    nodes = bench(count=3)
    for number, device in ((1, 0), (2, 3), (3, 3)):
        nodes[number]["rdma"]["devices"][device]["ports"][0].update(state="DOWN", physical_state="Disabled")
    assert (
        "rdma on gpu[01-03]\n"
        "    ports are down: bnxt_re0 is DOWN (Disabled) on gpu01, bnxt_re3 is DOWN (Disabled) on gpu[02-03].\n"
        "    → on gpu01: ip link set ens1np0 up\n"
        "    → on gpu[02-03]: ip link set ens4np0 up\n"
    ) in text_of(nodes)


def test_a_red_cell_is_told_with_reason_and_command(bench) -> None:
    nodes = bench(count=3)
    nodes[2]["numa"]["auto_balancing"] = nodes[3]["numa"]["auto_balancing"] = 1
    assert (
        "numa on gpu[02-03]\n"
        "    NUMA auto-balancing is on, and its page migration stalls GPUs.\n"
        "    → sysctl -w kernel.numa_balancing=0   # playbooks/node_prep.yml makes it permanent\n"
    ) in text_of(nodes)
    assert text_of(nodes).endswith("Not ready: 2 red cells on 2 of 3 nodes.")


def test_what_all_have_in_common_and_what_was_not_judged(bench) -> None:
    nodes = bench(nccl_ib_gid_index=None, nic_type=None, nccl_ib_hca_list=None)
    lines = text_of(nodes).splitlines()
    assert "    gpus: 8 × AMD Instinct MI300X" in lines
    assert "    kernel: 5.15.0-116-generic, ubuntu 22.04" in lines
    assert "    rdma, gid, provider: the config uses no RDMA" in lines
    assert "    port on gpu02: only rank 0 listens" in lines
    # A column that is grey everywhere is left out.
    assert "provider" not in lines[2]
    assert lines[-1] == "Ready: nothing is red on 2 nodes."


def test_proposals_are_told(bench) -> None:
    nodes = bench(nccl_socket_ifname=None)
    assert "Proposed for the config\n    nccl_socket_ifname: ens1np0\n" in text_of(nodes)


def test_words_are_painted_by_their_status(bench) -> None:
    nodes = bench()
    nodes[2]["numa"]["auto_balancing"] = 1
    painted = text_of(nodes, paint=lambda word, status: f"<{status}>{word}</>")
    assert "<red>RED</>" in painted
    assert "<green>ok</>" in painted
    assert "<red>Not ready: 1 red cell on 1 of 2 nodes.</>" in painted


def test_a_node_that_was_not_reached_has_no_other_marks(bench) -> None:
    nodes = bench(count=3)
    del nodes.facts["gpu03"]
    lines = text_of(nodes).splitlines()
    assert lines[2].split()[0] == "reached"
    assert next(line for line in lines if line.startswith("gpu03")).split() == ["gpu03", "RED"]
    assert "reached on gpu03" in lines


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("ssh: connect to host 127.0.1.{} port 2599: Connection refused", "sshd"),
        ("ssh: Could not resolve hostname number-{}.example: Name or service not known", "ansible_host"),
    ],
)
def test_nodes_that_ssh_does_not_reach_for_the_same_reason_are_red_once_with_what_to_do(said: str, remedy: str) -> None:
    names = [f"node{number}" for number in range(1, 65)]
    said = f"Failed to connect to the host via ssh: {said}"
    errors = {name: lost(unreachable(said.format(number))) for number, name in enumerate(names, 1)}
    result = preflight(machine_plan(names, "none"), {}, errors=errors)
    lines = preflight_text("machines", result).splitlines()
    assert len(lines) < 15
    assert any(line.startswith("reached on node[1-64]") for line in lines)
    assert remedy in " ".join(lines)


def without_gpus(bench, **expected) -> str:
    nodes = bench(count=1)
    nodes[1]["gpus"]["devices"], nodes[1]["gpus"]["on_bus"] = [], 0
    names = list(nodes.facts)
    facts = {names[0]: {**nodes.facts[names[0]], "paths": {FOLDER: nodes.facts[names[0]]["paths"][PROBE]}}}
    return preflight_text("machines", preflight(machine_plan(names, "none", **expected), facts))


def test_a_node_without_a_gpu_is_red_where_the_inventory_expects_some(bench) -> None:
    text = without_gpus(bench, gpu="mi300x", gpus_per_node=8)
    assert "the inventory expects 8 GPUs per node" in text
    assert "Ready" not in text


def test_a_node_without_a_gpu_is_never_ready_where_nothing_is_expected(bench) -> None:
    text = without_gpus(bench)
    assert "no GPU was found on gpu" in text
    assert "Ready" not in text


def test_the_problem_of_a_red_node_has_the_code_of_each_red_check(bench) -> None:
    nodes = bench(count=3)
    nodes[2]["numa"]["auto_balancing"] = 1
    nodes[2]["gpus"]["devices"].pop()
    (node, found), *others = problems_of_red(nodes.result()["rows"]).items()
    assert (node, others, found["code"]) == ("gpu02", [], "preflight_red")
    assert found["values"]["checks"] == {"gpus": "gpus_missing", "numa": "numa_on"}


@pytest.mark.parametrize(("count", "shown"), [(1, False), (2, True)])
def test_what_all_nodes_have_in_common_is_shown_for_more_than_one(bench, count: int, shown: bool) -> None:
    assert ("The same on all nodes" in text_of(bench(count=count))) == shown
