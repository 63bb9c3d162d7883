from __future__ import annotations

import struct
from pathlib import Path

import pytest
from node_trees import mi300x_thor2, write

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.gpus import gpu_facts
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.rdma import rdma_devices
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.settings import (
    acs_bridges,
    setting_facts,
    slurmd_memlock,
)

BUS = "/sys/bus/pci/devices"
ROOT_PORT, GPU = "0000:00:01.0", "0000:01:00.0"


def config_space(control: int) -> bytes:
    """The configuration of a bridge whose second extended capability is ACS."""
    space = bytearray(4096)
    struct.pack_into("<I", space, 0x100, 0x0001 | 1 << 16 | 0x148 << 20)
    struct.pack_into("<IHH", space, 0x148, 0x000D | 1 << 16, 0x5F, control)
    return bytes(space)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A GPU below a root port."""
    port = f"/sys/devices/pci0000:00/{ROOT_PORT}"
    write(
        tmp_path,
        {
            f"{port}/max_link_speed": "16.0 GT/s PCIe",
            f"{port}/max_link_width": 16,
            f"{port}/{GPU}/current_link_speed": "16.0 GT/s PCIe",
            f"{port}/{GPU}/max_link_speed": "32.0 GT/s PCIe",
            f"{port}/{GPU}/current_link_width": 8,
            f"{port}/{GPU}/max_link_width": 16,
            f"{BUS}/{GPU}": f"->../../../devices/pci0000:00/{ROOT_PORT}/{GPU}",
            f"{BUS}/{ROOT_PORT}": f"->../../../devices/pci0000:00/{ROOT_PORT}",
        },
    )
    return tmp_path


# 0x1d: source validation, request and completion redirect, upstream forwarding; as the kernel sets it for an IOMMU.
@pytest.mark.parametrize(("control", "found"), [(0x1D, [ROOT_PORT]), (0x01, [ROOT_PORT]), (0, []), (0x40, [])])
def test_a_bridge_that_redirects_traffic(root: Path, control: int, found: list[str]) -> None:
    (root / f"sys/devices/pci0000:00/{ROOT_PORT}/config").write_bytes(config_space(control))
    assert acs_bridges(str(root), [GPU]) == found


@pytest.mark.parametrize("space", [None, bytes(64)])
def test_others_than_root_cannot_read_it(root: Path, space: bytes | None) -> None:
    if space is not None:
        (root / f"sys/devices/pci0000:00/{ROOT_PORT}/config").write_bytes(space)
    assert acs_bridges(str(root), [GPU]) is None


def test_a_link_can_do_what_the_weaker_end_can(root: Path) -> None:
    (link,) = setting_facts(str(root), [{"pci_address": GPU}], [])["pcie"]
    assert (link["pcie_speed"], link["pcie_speed_limit"]) == (16.0, 16.0)
    assert (link["pcie_width"], link["pcie_width_limit"]) == (8, 16)


def test_the_settings_of_a_node(tmp_path: Path) -> None:
    root = str(mi300x_thor2(tmp_path))
    cpu = "/sys/devices/system/cpu"
    files: dict[str, object] = {
        "/proc/cmdline": "BOOT_IMAGE=/vmlinuz iommu=pt",
        f"{cpu}/cpu0/cpufreq/scaling_governor": "performance",
        f"{cpu}/cpu1/cpufreq/scaling_governor": "powersave",
        f"{cpu}/cpu0/cpuidle/state2/disable": 1,
        f"{cpu}/cpu1/cpuidle/state2/disable": 0,
        "/proc/sys/net/ipv4/conf/all/rp_filter": 0,
        "/proc/sys/net/ipv4/conf/ens1np0/rp_filter": 1,
        "/sys/kernel/config/bnxt_re/bnxt_re0/ports/1/cc/roce_dscp": "0x1a",
    }
    write(tmp_path, files)
    found = setting_facts(root, gpu_facts(root)["devices"], rdma_devices(root))
    assert (found["governors"], found["c2"]) == (["performance", "powersave"], True)
    assert found["command_line"] == "BOOT_IMAGE=/vmlinuz iommu=pt"
    assert found["rails"]["ens1np0"] == {"rp_filter": 1, "arp_ignore": None, "arp_announce": None}
    assert (found["roce_dscp"]["bnxt_re0"], found["roce_dscp"]["bnxt_re1"]) == (26, None)
    assert {one["device"] for one in found["pcie"]} >= {"bnxt_re0", "bnxt_re7"}


def test_an_adapter_that_may_reorder_transfers(tmp_path: Path) -> None:
    root = str(mi300x_thor2(tmp_path))
    adapters = rdma_devices(root)
    for number, control in ((0, 0x2910), (1, 0x2900)):
        space = bytearray(4096)
        space[0x34], space[0x40:0x42], space[0xAC] = 0x40, bytes((0x01, 0xAC)), 0x10
        struct.pack_into("<H", space, 0xAC + 8, control)
        path = tmp_path / f"{BUS[1:]}/{adapters[number]['pci_address']}/config"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(space)
    found = setting_facts(root, [], adapters)["relaxed_ordering"]
    assert [found[f"bnxt_re{number}"] for number in range(3)] == [True, False, None]


def test_flow_and_congestion_control_of_adapters(tmp_path: Path) -> None:
    root = str(mi300x_thor2(tmp_path))
    ecn = "/sys/class/net/ens2np0/ecn"
    files: dict[str, object] = {"/sys/kernel/config/bnxt_re/bnxt_re0/ports/1/cc/ecn_enable": "0x1"}
    for priority in range(8):
        files |= {f"{ecn}/roce_np/enable/{priority}": int(priority in (3, 4))}
        files |= {f"{ecn}/roce_rp/enable/{priority}": int(priority == 3)}
    write(tmp_path, files)
    said = {"bnxt_re0": {"pfc": [6, 7], "dscp": {"48": 6}, "ecn": [6]}, "bnxt_re2": {"ecn": [6]}}
    found = setting_facts(root, [], rdma_devices(root), said)["roce"]
    # What the driver shows goes before what a program says.
    assert found["bnxt_re0"] == {"pfc": [6, 7], "dscp": {"48": 6}, "ecn": list(range(8))}
    assert found["bnxt_re1"] == {"pfc": None, "dscp": None, "ecn": [3]}
    assert (found["bnxt_re2"]["ecn"], found["bnxt_re3"]["ecn"]) == ([6], None)


@pytest.mark.parametrize(("printed", "limit"), [("unlimited", -1), ("8388608  ", 8388608)])
def test_what_slurmd_may_lock(tmp_path: Path, printed: str, limit: int) -> None:
    assert slurmd_memlock(str(tmp_path)) is None
    rows = f"Limit              Soft Limit  Hard Limit  Units\nMax locked memory  65536       {printed}   bytes"
    write(tmp_path, {"/proc/77/comm": "slurmd", "/proc/77/limits": rows})
    assert slurmd_memlock(str(tmp_path)) == limit
