"""What programs say about RDMA adapters: parsed from samples, and asked by the inspection of a node."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nic_tools
import pytest
from node_trees import h100_cx7, mi300x_thor2, mi325x_ainic
from not_run import need

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.adapter_tools import (
    TOOLS,
    dcb_dscp_in,
    dcb_pfc_in,
    mlxconfig_in,
    niccli_devices_in,
    niccli_qos_in,
    nicctl_dcqcn_in,
    nicctl_qos_in,
    tool_facts,
)
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.facts import inspect

ALL = list(range(8))
NEW_SHOW, OLD_SHOW = "--dev {} qos --ets --show", "-i {} getqos"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def settings_of(root: Path) -> dict[str, Any]:
    settings: dict[str, Any] = inspect([], root=str(root))["settings"]
    return settings


def test_dcb_says_priorities() -> None:
    # As in the examples of dcb-pfc(8) and dcb-app(8).
    pfc = "pfc-cap 8 macsec-bypass off delay 4096\nprio-pfc 0:off 1:off 2:off 3:off 4:off 5:off 6:on 7:on\n"
    assert dcb_pfc_in(pfc) == [6, 7]
    assert dcb_dscp_in("dscp-prio 0:0 24:3 48:6\n") == {"0": 0, "24": 3, "48": 6}


def test_a_driver_without_data_center_bridging_is_left_out() -> None:
    need("dcb")
    assert tool_facts([{"name": "lo0", "provider": None, "ports": [{"netdev": "lo"}]}]) == {"lo0": {}}


@pytest.mark.parametrize("output", [nic_tools.NICCLI_DEVICES, nic_tools.NICCLI_LIST])
def test_niccli_numbers_adapters_in_either_form(output: str) -> None:
    assert niccli_devices_in(output) == {"0000:01:00.0": "1", "0000:02:00.0": "2"}


def test_niccli_says_priorities() -> None:
    assert niccli_qos_in(nic_tools.NICCLI_QOS) == {"pfc": [3], "dscp": {"48": 7, "26": 3}}
    assert niccli_qos_in(nic_tools.NICCLI_QOS.replace("enabled: 3", "enabled: none"))["pfc"] == []
    assert niccli_qos_in(nic_tools.NICCLI_QOS.replace("enabled: 3", "enabled: 3,5"))["pfc"] == [3, 5]
    assert niccli_qos_in("") == {"pfc": None, "dscp": {}}


def test_nicctl_says_priorities_of_each_card() -> None:
    first, second = nicctl_qos_in(nic_tools.NICCTL_QOS).items()
    assert (first[0], first[1]["pfc"]) == ("0000:f1:00.0", [3])
    assert {dscp: priority for dscp, priority in first[1]["dscp"].items() if priority} == {"24": 3, "46": 6}
    assert len(first[1]["dscp"]) == 64
    assert second == ("0000:02:00.0", {"pfc": [], "dscp": {str(dscp): 0 for dscp in range(64)}})
    several = nic_tools.NICCTL_QOS.replace("no-drop priorities    : 3", "no-drop priorities    : 0,3")
    assert nicctl_qos_in(several)["0000:f1:00.0"]["pfc"] == [0, 3]


def test_the_first_port_of_a_card_counts() -> None:
    _head, first, second = nic_tools.NICCTL_QOS.split("Port :")
    both = f"NIC  : 1 (0000:f1:00.0)\n\nPort :{first.partition('NIC')[0]}\nPort :{second}"
    assert nicctl_qos_in(both)["0000:f1:00.0"]["pfc"] == [3]


def test_nicctl_says_whether_dcqcn_is_on() -> None:
    found = nicctl_dcqcn_in(nic_tools.NICCTL_DCQCN)
    assert found == {"ionic_0": ("0000:f1:00.0", ALL), "ionic_1": ("0000:02:00.0", [])}


@pytest.mark.parametrize("output", ["No AMD NICs", "Invalid card handle", "Failed to get NIC", ""])
def test_nicctl_without_a_card_says_nothing(output: str) -> None:
    assert (nicctl_qos_in(output), nicctl_dcqcn_in(output)) == ({}, {})


def test_mlxconfig_says_what_is_in_force_and_what_comes_at_the_next_boot() -> None:
    assert mlxconfig_in(nic_tools.MLXCONFIG_ALL) == {
        "PCI_WR_ORDERING": {"now": "per_mkey(0)", "next": "force_relax(1)"},
        "ATS_ENABLED": {"now": None, "next": "False(0)"},
    }
    assert mlxconfig_in(nic_tools.MLXCONFIG) == {
        "PCI_WR_ORDERING": {"now": None, "next": "per_mkey(0)"},
        "ATS_ENABLED": {"now": None, "next": "False(0)"},
    }


@pytest.mark.parametrize(
    ("listing", "show"),
    [
        ({"--list_devices": nic_tools.NICCLI_DEVICES}, NEW_SHOW),
        ({"--list": nic_tools.NICCLI_LIST}, OLD_SHOW),
    ],
)
def test_the_inspection_asks_niccli_in_the_form_that_it_knows(
    tmp_path: Path, programs: Path, listing: dict[str, str], show: str
) -> None:
    nic_tools.with_programs(programs, niccli={**listing, show.format(2): nic_tools.NICCLI_QOS})
    found = settings_of(mi300x_thor2(tmp_path))["roce"]
    assert found["bnxt_re1"] == {"pfc": [3], "dscp": {"48": 7, "26": 3}, "ecn": None}
    # niccli fails for the first, and does not list the third.
    assert found["bnxt_re0"] == found["bnxt_re2"] == {"pfc": None, "dscp": None, "ecn": None}


def test_the_inspection_asks_nicctl_once_for_all_cards(tmp_path: Path, programs: Path) -> None:
    nic_tools.with_programs(programs, nicctl={"show qos": nic_tools.NICCTL_QOS, "show dcqcn": nic_tools.NICCTL_DCQCN})
    found = settings_of(mi325x_ainic(tmp_path))["roce"]
    assert (found["ionic_0"]["pfc"], found["ionic_0"]["dscp"]["24"], found["ionic_0"]["ecn"]) == ([3], 3, ALL)
    assert (found["ionic_1"]["pfc"], found["ionic_1"]["dscp"]["24"], found["ionic_1"]["ecn"]) == ([], 0, [])
    assert found["ionic_2"] == {"pfc": None, "dscp": None, "ecn": None}


@pytest.mark.parametrize("tool", ["mlxconfig", "mstconfig"])
def test_the_inspection_asks_the_tool_of_nvidia_that_is_there(tmp_path: Path, programs: Path, tool: str) -> None:
    nic_tools.with_programs(programs, **{tool: {"-d 0000:01:00.0 -e q": nic_tools.MLXCONFIG_ALL}})
    found = settings_of(h100_cx7(tmp_path))["nic_firmware"]
    assert found["mlx5_0"]["PCI_WR_ORDERING"] == {"now": "per_mkey(0)", "next": "force_relax(1)"}
    assert found["mlx5_1"] == {}


def test_a_vendors_tool_is_asked_only_for_what_dcb_does_not_know(tmp_path: Path, programs: Path) -> None:
    """dcb knows all of the first adapter, but of the second no DSCP; niccli would say something else of both."""
    on = "prio-pfc 0:off 1:off 2:off 3:off 4:off 5:on 6:off 7:off\n"
    nic_tools.with_programs(
        programs,
        dcb={
            "pfc show dev ens1np0": on,
            "-N app show dev ens1np0 dscp-prio": "dscp-prio 10:5\n",
            "pfc show dev ens2np0": on,
            "-N app show dev ens2np0 dscp-prio": "",
        },
        niccli={
            "--list_devices": nic_tools.NICCLI_DEVICES,
            NEW_SHOW.format(1): nic_tools.NICCLI_QOS,
            NEW_SHOW.format(2): nic_tools.NICCLI_QOS,
        },
    )
    found = settings_of(mi300x_thor2(tmp_path))["roce"]
    assert found["bnxt_re0"] == {"pfc": [5], "dscp": {"10": 5}, "ecn": None}
    assert found["bnxt_re1"] == {"pfc": [5], "dscp": {"48": 7, "26": 3}, "ecn": None}


def test_a_tool_runs_only_for_the_adapters_of_its_vendor(tmp_path: Path, programs: Path) -> None:
    """Each tool notes that it ran."""
    ran = tmp_path / "ran"
    ran.mkdir()
    for tool in TOOLS:
        (programs / tool.name).write_text(f"#!/bin/sh\n: >{ran}/{tool.name}\n")
        (programs / tool.name).chmod(0o755)
    settings_of(mi325x_ainic(tmp_path))
    assert {path.name for path in ran.iterdir()} == {"dcb", "nicctl"}
