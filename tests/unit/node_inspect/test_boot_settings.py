"""The module boot_settings on trees of files: real ACS registers, a governor and systemd's folders."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from node_trees import bare, h100_cx7, mi300x_thor2, write

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.settings import acs_register
from ansible_collections.trainops.cluster.plugins.modules.boot_settings import SETTINGS, ensure

CPU = "/sys/devices/system/cpu"
GOVERNORS = [f"{CPU}/cpu{number}/cpufreq/scaling_governor" for number in range(2)]
BRIDGE = "0000:00:01.1"
CONFIG = f"sys/bus/pci/devices/{BRIDGE}/config"
UNIT = "etc/systemd/system/trainops-{}.service"
WANTS = "etc/systemd/system/multi-user.target.wants/trainops-{}.service"


class Node:
    """A node as a tree of files, and the commands that were run on it."""

    def __init__(self, root: Path) -> None:
        self.root, self.commands = root, []
        (root / "run/systemd/system").mkdir(parents=True)

    def run(self, command: list[str]) -> str:
        self.commands.append(command)
        return ""

    def make(self, *settings: str, absent: bool = False, check: bool = False, programs: bool = True) -> Any:
        return ensure(
            str(self.root),
            list(settings),
            absent=absent,
            check_mode=check,
            run=self.run,
            has_program=lambda _program: programs,
        )

    def files(self) -> dict[str, bytes]:
        paths = [path for path in self.root.rglob("*") if path.is_symlink() or path.is_file()]
        return {
            str(path.relative_to(self.root)): str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
            for path in paths
        }

    def codes(self, *settings: str, **more: Any) -> set[tuple[str, str]]:
        before = self.files()
        result, faults = self.make(*settings, **more)
        assert (result, self.files()) == ({}, before)
        return {(fault.code, fault.name) for fault in faults}


def with_acs(root: Path, control: int) -> None:
    """Put the first GPU below a root port with ACS."""
    port = f"/sys/devices/pci0000:00/{BRIDGE}"
    gpu = root / "sys/bus/pci/devices/0000:05:00.0"
    gpu.rename(root / "gpu")
    (root / port.lstrip("/")).mkdir(parents=True)
    (root / "gpu").rename(root / port.lstrip("/") / "0000:05:00.0")
    write(
        root,
        {
            "/sys/bus/pci/devices/0000:05:00.0": f"->../../../devices/pci0000:00/{BRIDGE}/0000:05:00.0",
            f"/sys/bus/pci/devices/{BRIDGE}": f"->../../../devices/pci0000:00/{BRIDGE}",
        },
    )
    space = bytearray(4096)
    struct.pack_into("<IHH", space, 0x100, 0x000D | 1 << 16, 0x5F, control)
    (root / CONFIG).write_bytes(bytes(space))


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """An MI300X node with everything that a vendor asks to change, and slurmd."""
    root = mi300x_thor2(tmp_path)
    with_acs(root, 0x1D)
    write(
        root,
        {
            **dict(zip(GOVERNORS, ("powersave", "schedutil"), strict=True)),
            f"{CPU}/cpu0/cpufreq/scaling_available_governors": "performance powersave",
            f"{CPU}/cpu0/cpuidle/state2/name": "C2",
            f"{CPU}/cpu0/cpuidle/state2/disable": 0,
            "/usr/lib/systemd/system/slurmd.service": "[Service]",
        },
    )
    return Node(root)


EXPECTED = {
    "cpu_governor": {GOVERNORS[0]: "powersave", GOVERNORS[1]: "schedutil"},
    "cpu_c2_off": {f"{CPU}/cpu0/cpuidle/state2/disable": "0"},
    "pcie_acs_off": {f"/{CONFIG}": "0x001d"},
    "slurmd_memlock": {},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_setting_is_told_made_kept_and_taken_back(node: Node, name: str) -> None:
    before = node.files()
    told = node.make(name, check=True)
    assert node.files() == before
    made = node.make(name)
    assert (made, made[0]["before"], made[0]["changed"]) == (told, EXPECTED[name], True)
    kept = SETTINGS[name].kept.lstrip("/")
    assert kept in node.files()
    assert node.commands == [["systemctl", "daemon-reload"]]
    assert node.make(name)[0]["changed"] is False
    back = node.make(name, absent=True, check=True)
    assert node.make(name, absent=True) == back
    assert node.files() == before
    assert node.make(name, absent=True)[0]["changed"] is False


def test_the_running_kernel_and_the_next_boot_have_the_same(node: Node) -> None:
    node.make(*EXPECTED)
    files = node.files()
    assert [files[path.lstrip("/")] for path in GOVERNORS] == [b"performance\n"] * 2
    assert files[f"{CPU}/cpu0/cpuidle/state2/disable".lstrip("/")] == b"1\n"
    register = acs_register(str(node.root), BRIDGE)
    assert register is not None
    assert (register.control, len(files[f"sys/devices/pci0000:00/{BRIDGE}/config"])) == (0, 4096)
    for name in ("cpu-governor", "cpu-c2-off", "pcie-acs-off"):
        assert files[WANTS.format(name)] == f"/{UNIT.format(name)}".encode()
    assert b'echo performance >"$$file"' in files[UNIT.format("cpu-governor")]
    assert f"setpci -s {BRIDGE} ECAP_ACS+6.w=0".encode() in files[UNIT.format("pcie-acs-off")]
    # ACS is off by then, and the unit still names the bridge.
    assert node.make("pcie_acs_off")[0]["changed"] is False


def test_what_somebody_has_changed_since_stays(node: Node) -> None:
    node.make("cpu_governor")
    write(node.root, {GOVERNORS[0]: "ondemand"})
    assert node.make("cpu_governor", absent=True)[0]["before"] == {GOVERNORS[1]: "performance"}
    files = node.files()
    assert [files[path.lstrip("/")] for path in GOVERNORS] == [b"ondemand\n", b"schedutil\n"]


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"/proc/cpuinfo": "flags\t: fpu hypervisor"}, "virtual_machine"),
        ({"/sys/bus/pci/drivers/vfio-pci/0000:c1:00.0": ""}, "guests"),
        ({"/proc/cmdline": "quiet vfio-pci.ids=1002:74a1"}, "guests"),
        ({"/sys/module/kvm_amd/refcnt": 3}, "guests"),
        ({"/proc/xen/capabilities": "control_d"}, "guests"),
    ],
)
def test_acs_stays_where_it_isolates_guests(node: Node, files: dict[str, object], code: str) -> None:
    write(node.root, {"/sys/module/kvm_amd/refcnt": 0, "/sys/bus/pci/drivers/vfio-pci/bind": "", **files})
    assert node.codes("cpu_governor", "pcie_acs_off") == {(code, "pcie_acs_off")}


def test_all_faults_are_found_before_the_first_change(node: Node) -> None:
    write(node.root, {f"{CPU}/cpu1/cpufreq/scaling_available_governors": "powersave"})
    (node.root / CONFIG).write_bytes(bytes(64))
    assert node.codes("cpu_governor", "pcie_acs_off") == {
        ("not_available", "cpu_governor"),
        ("unreadable", "pcie_acs_off"),
    }


def test_without_systemd_or_setpci_nothing_would_keep_it(node: Node) -> None:
    (node.root / "run/systemd/system").rmdir()
    assert node.codes("cpu_c2_off", "pcie_acs_off", programs=False) == {
        ("no_systemd", "cpu_c2_off"),
        ("no_systemd", "pcie_acs_off"),
        ("no_program", "pcie_acs_off"),
    }


def test_what_the_kernel_refuses_is_named_and_the_rest_taken_back(node: Node) -> None:
    (node.root / GOVERNORS[1].lstrip("/")).unlink()
    write(node.root, {GOVERNORS[1]: "->/dev/full"})
    (node.root / "usr/lib/systemd/system/slurmd.service").unlink()
    assert node.codes("slurmd_memlock", "cpu_governor") == {("refused", "cpu_governor")}


def test_nvidia_peermem_is_loaded_now_and_at_each_boot(tmp_path: Path) -> None:
    node = Node(h100_cx7(tmp_path))
    kept = SETTINGS["nvidia_peermem"].kept.lstrip("/")
    assert node.make("nvidia_peermem")[0]["before"] == {"/sys/module/nvidia_peermem": "not loaded"}
    assert node.commands == [["modprobe", "nvidia_peermem"]]
    assert node.files()[kept].endswith(b"\nnvidia-peermem\n")
    (tmp_path / "sys/module/nvidia_peermem").mkdir(parents=True)
    assert node.make("nvidia_peermem")[0]["changed"] is False
    assert node.make("nvidia_peermem", absent=True)[0]["changed"] is True
    assert kept not in node.files()


@pytest.mark.parametrize(
    "files",
    [
        {"/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15"},
        {"/sys/module/nv_peer_mem/version": "1.3"},
    ],
)
def test_a_node_with_another_way_to_the_memory_of_gpus_needs_no_nvidia_peermem(
    tmp_path: Path, files: dict[str, object]
) -> None:
    node = Node(h100_cx7(tmp_path))
    write(tmp_path, files)
    assert node.make("nvidia_peermem")[0]["changed"] is False


def test_a_node_without_such_hardware_is_left_alone(tmp_path: Path) -> None:
    node = Node(bare(tmp_path))
    (tmp_path / "run/systemd/system").rmdir()
    result, faults = node.make(*SETTINGS)
    assert (result["changed"], faults, node.commands) == (False, [], [])
