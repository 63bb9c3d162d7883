"""The settings that cost speed: each is judged on its own hardware, and a yellow one stops no training."""

from __future__ import annotations

import os
from typing import Any

import nic_tools
import pytest
from preflight_cases import GIB, LINK, WHOLE_LINK

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.adapter_tools import tool_facts
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.settings import setting_facts
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.cells import YELLOW
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.check_settings import SETTINGS
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.table import preflight_text

# As AMD asks for.
RAIL = {"rp_filter": 2, "arp_ignore": 2, "arp_announce": 1}
WAITING = {"now": "per_mkey(0)", "next": "force_relax(1)"}
IN_FORCE = {"now": "False(0)", "next": "False(0)"}


@pytest.fixture
def good(bench):
    """Return a function that makes nodes with good settings, and the changes of the first one."""

    def make(**changes: Any) -> Any:
        nodes = bench()
        for node in nodes.plan["nodes"]:
            node["env"]["NCCL_IB_TC"] = "41"
        nodes[1]["settings"].update(changes)
        return nodes

    return make


def test_good_settings_are_green_on_their_hardware(good) -> None:
    nodes = good()
    codes = {check: nodes.code(check)[:2] for check in SETTINGS}
    assert codes == {
        "acs": ("green", "acs_off"),
        "iommu": ("green", "iommu_passes_through"),
        "boot": ("green", "boot_parameters"),
        "pcie": ("green", "pcie_full"),
        "peer": ("grey", "setting_not_used"),
        "rails": ("grey", "setting_not_used"),
        "cpu": ("green", "cpu"),
        "dscp": ("green", "dscp"),
        "slurmd": ("green", "slurmd_memlock"),
        "memory": ("green", "memory"),
    }


@pytest.mark.parametrize(
    ("check", "changes", "code", "values"),
    [
        ("acs", {"acs_bridges": ["0000:00:01.0"]}, "acs_on", {"count": 1, "bridges": ["0000:00:01.0"]}),
        ("iommu", {"iommu": ["DMA-FQ", "identity"]}, "iommu_translates", {"kind": "DMA-FQ"}),
        (
            "boot",
            {"command_line": "iommu=pt"},
            "boot_parameters_missing",
            {"missing": ["pci=realloc=off", "pci=bfsort"]},
        ),
        ("boot", {"command_line": "pci=bfsort"}, "boot_parameters_missing", {"missing": ["pci=realloc=off"]}),
        ("cpu", {"governors": ["performance", "powersave"]}, "cpu_slowed", {"governor": "powersave"}),
        ("cpu", {"c2": True}, "cpu_sleeps", {}),
        (
            "pcie",
            {"relaxed_ordering": {"bnxt_re0": True, "bnxt_re3": False}},
            "ordering_strict",
            {"count": 1, "devices": ["bnxt_re3"], "address": LINK["address"]},
        ),
        (
            "pcie",
            {"nic_firmware": {LINK["device"]: {"ATS_ENABLED": IN_FORCE, "PCI_WR_ORDERING": WAITING}}},
            "firmware_waits",
            {"device": LINK["device"], "address": LINK["address"], "setting": "PCI_WR_ORDERING", **WAITING},
        ),
        ("slurmd", {"slurmd_memlock": 8388608}, "slurmd_memlock_small", {"limit": 8388608}),
        (
            "dscp",
            {"roce_dscp": {"bnxt_re0": 26}},
            "dscp_differs",
            {"traffic_class": 41, "wanted": 10, "device": "bnxt_re0", "dscp": 26},
        ),
    ],
)
def test_a_setting_that_costs_speed_is_yellow_and_its_node_not_red(good, check, changes, code, values) -> None:
    nodes = good(**changes)
    cell = nodes.cell(check)
    assert (cell["status"], cell["code"], cell["values"]) == (YELLOW, code, values)
    assert nodes.reds() == []
    assert nodes.cell(check, 2)["status"] != YELLOW


@pytest.mark.parametrize(
    ("check", "changes", "code", "case"),
    [
        ("acs", {"acs_bridges": None}, "setting_unreadable", "root"),
        ("acs", {"virtual_machine": True, "acs_bridges": ["0000:00:01.0"]}, "setting_not_used", "virtual_machine"),
        ("boot", {"virtual_machine": True, "command_line": ""}, "setting_not_used", "virtual_machine"),
        ("boot", {"command_line": None}, "unknown", ""),
        ("pcie", {"pcie": []}, "unknown", ""),
        ("cpu", {"governors": []}, "unknown", ""),
        ("slurmd", {"slurmd_memlock": None}, "setting_not_used", "no_slurmd"),
        ("dscp", {"roce_dscp": {"bnxt_re0": None}, "roce": {}}, "dscp_unknown", "adapter"),
    ],
)
def test_what_cannot_be_read_or_does_not_apply_is_grey(good, check, changes, code, case) -> None:
    assert good(**changes).code(check) == ("grey", code, case)


@pytest.mark.parametrize("weak", [{"pcie_speed": 16.0}, {"pcie_width": 8}])
def test_a_link_below_what_both_ends_can_do(good, weak) -> None:
    link = {**LINK, **WHOLE_LINK, **weak}
    cell = good(pcie=[link, {**LINK, **WHOLE_LINK}]).cell("pcie")
    assert (cell["code"], cell["values"]) == ("pcie_weak", {"count": 1, "links": [link]})


def test_an_idle_gpu_of_nvidia_may_be_slow_but_not_narrow(good) -> None:
    for width, code in ((16, "pcie_full"), (8, "pcie_weak")):
        nodes = good(pcie=[{**LINK, **WHOLE_LINK, "kind": "gpu", "pcie_speed": 2.5, "pcie_width": width}])
        nodes[1]["gpus"]["vendor"] = "nvidia"
        assert nodes.cell("pcie")["code"] == code


def test_nvidia_gpus_need_peer_memory_or_dma_buf(good) -> None:
    for changes, cell in (
        ({}, (YELLOW, "peer_memory_missing", "")),
        ({"peer_memory": True}, ("green", "peer_memory", "")),
        ({"open_kernel_module": True}, ("green", "peer_memory", "dma_buf")),
    ):
        nodes = good(**changes)
        nodes[1]["gpus"]["vendor"] = "nvidia"
        assert nodes.code("peer") == cell


@pytest.mark.parametrize(
    ("rail", "wrong"),
    [
        (RAIL, None),
        ({**RAIL, "rp_filter": 1}, ["rp_filter"]),
        ({**RAIL, "arp_announce": 0, "arp_ignore": 0}, ["arp_announce", "arp_ignore"]),
    ],
)
def test_adapters_in_one_network_answer_for_themselves(good, rail, wrong) -> None:
    nodes = good(rails={"ens1np0": RAIL, "ens2np0": rail}, shared_rails=["ens1np0", "ens2np0"])
    cell = nodes.cell("rails")
    assert cell["status"] == (YELLOW if wrong else "green")
    assert cell["values"].get("settings") == wrong


@pytest.mark.parametrize(
    ("changes", "cell"),
    [
        ({"pfc": []}, (YELLOW, "roce_lossy", "pfc")),
        ({"dscp": {"26": 3}}, (YELLOW, "roce_lossy", "pfc")),
        ({"ecn": []}, (YELLOW, "roce_lossy", "ecn")),
        ({"ecn": None}, ("green", "dscp", "")),
    ],
)
def test_the_priority_of_the_traffic_class_has_flow_and_congestion_control(good, changes, cell) -> None:
    nodes = good()
    nodes[1]["settings"]["roce"]["bnxt_re5"].update(changes)
    assert nodes.code("dscp") == cell


@pytest.mark.parametrize("firmware", [IN_FORCE, {"now": None, "next": "True(1)"}])
def test_firmware_settings_in_force_or_unknown_are_green(good, firmware) -> None:
    assert good(nic_firmware={LINK["device"]: {"ATS_ENABLED": firmware}}).code("pcie") == ("green", "pcie_full", "")


@pytest.mark.parametrize(
    ("traffic_class", "cell"),
    [("41", (YELLOW, "roce_lossy", "pfc")), ("104", ("green", "dscp", ""))],
)
def test_the_traffic_class_against_what_niccli_says_of_thor2(good, tmp_path, monkeypatch, traffic_class, cell) -> None:
    """Thor2 expects RoCE with DSCP 26; the traffic class 41 of CVS's config marks packets with DSCP 10."""
    show = {f"--dev {number} qos --ets --show": nic_tools.NICCLI_QOS for number in (1, 2)}
    nic_tools.with_programs(tmp_path, niccli={"--list_devices": nic_tools.NICCLI_DEVICES, **show})
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    nodes = good()
    adapters = nodes[1]["rdma"]["devices"]
    found = setting_facts(str(tmp_path), [], adapters, tool_facts(adapters))
    nodes[1]["settings"] |= {"roce": found["roce"], "roce_dscp": found["roce_dscp"]}
    for node in nodes.plan["nodes"]:
        node["env"]["NCCL_IB_TC"] = traffic_class
    assert nodes.code("dscp") == cell
    if cell[0] == YELLOW:
        marked = {"device": "bnxt_re0", "dscp": 10, "priority": 0}
        assert nodes.cell("dscp")["values"] == {**marked, "lossless": 26, "traffic_class": 104}


def test_less_memory_than_the_gpus_have(good) -> None:
    nodes = good()
    nodes[1]["memory_bytes"] = 512 * GIB
    assert (nodes.cell("memory")["status"], nodes.cell("memory")["code"]) == (YELLOW, "memory_small")


def test_the_table_says_which_settings_cost_speed_and_is_ready(good) -> None:
    nodes = good(acs_bridges=["0000:00:01.0"], c2=True)
    lines = preflight_text("run7", nodes.result()).splitlines()
    assert lines[-1] == "Ready: nothing is red, but these settings cost speed on 1 of 2 nodes: acs, cpu."
    assert "acs on gpu01" in lines


def test_who_asks_and_what_it_costs_stands_in_the_reason(good) -> None:
    cell = good(acs_bridges=["0000:00:01.0"]).cell("acs")
    assert "goes through the processor (NCCL" in cell["reason"]
    assert cell["command"].startswith("ansible-playbook playbooks/node_prep.yml -i INVENTORY --tags acs")
