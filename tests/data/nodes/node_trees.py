# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees of files as the kernels of some nodes show them, for the functions that read below a root folder.

The values come from real nodes as far as they are known; addresses and versions are examples.
"""

from __future__ import annotations

import struct
from pathlib import Path

LINK_LOCAL = "fe80:0000:0000:0000:be97:e1ff:fe00:000{device:x}"
IPV4_MAPPED = "0000:0000:0000:0000:0000:ffff:c0a8:0{device:x}01"
EMPTY_GID = "0000:0000:0000:0000:0000:0000:0000:0000"


def write(root: Path, files: dict[str, object]) -> None:
    """Write files below the root; a value that begins with ``->`` is a symbolic link."""
    for name, content in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        text = str(content)
        if text.startswith("->"):
            path.symlink_to(text[2:])
        else:
            path.write_text(f"{text}\n")


def system(root: Path, hostname: str = "gpu01", numa_balancing: int | None = 0, release: str = "ubuntu") -> None:
    """Two sockets, 16 processors, two NUMA nodes."""
    releases = {
        "ubuntu": 'PRETTY_NAME="Ubuntu 22.04.4 LTS"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"',
        "rocky": 'PRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)"\nID="rocky"\nID_LIKE="rhel fedora"\nVERSION_ID="9.4"',
        "noble": 'PRETTY_NAME="Ubuntu 24.04.1 LTS"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"',
        "debian": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"',
        "rhel": 'PRETTY_NAME="Red Hat Enterprise Linux 9.4 (Plow)"\nID="rhel"\nID_LIKE="fedora"\nVERSION_ID="9.4"',
        "sles": 'PRETTY_NAME="SUSE Linux Enterprise Server 15 SP5"\nID="sles"\nID_LIKE="suse"\nVERSION_ID="15.5"',
        "azurelinux": 'PRETTY_NAME="Microsoft Azure Linux 3.0"\nID=azurelinux\nVERSION_ID="3.0"',
        "alpine": "PRETTY_NAME=Alpine\nID=alpine",
    }
    files: dict[str, object] = {
        "/proc/sys/kernel/hostname": hostname,
        "/proc/sys/kernel/osrelease": "5.15.0-116-generic",
        "/proc/sys/fs/nr_open": 1048576,
        "/proc/meminfo": "MemTotal:       2377216044 kB\nMemFree:        1 kB",
        "/proc/cpuinfo": "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9554 64-Core Processor\n",
        "/etc/os-release": releases[release],
        "/sys/devices/system/cpu/online": "0-15",
        "/sys/devices/system/node/online": "0-1",
        **{f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id": cpu % 2 for cpu in range(16)},
    }
    if numa_balancing is not None:
        files["/proc/sys/kernel/numa_balancing"] = numa_balancing
    write(root, files)


def amd_gpus(root: Path, count: int = 8, device: int = 0x74A1, driver: str | None = "6.10.5") -> None:
    """KFD nodes of two processors and of ``count`` GPUs, and the GPUs' PCI devices."""
    nodes = "/sys/class/kfd/kfd/topology/nodes"
    files: dict[str, object] = {}
    for cpu in range(2):
        files[f"{nodes}/{cpu}/gpu_id"] = 0
        files[f"{nodes}/{cpu}/properties"] = "cpu_cores_count 64\nsimd_count 0"
    for gpu in range(count):
        bus = 0x05 + 0x10 * gpu
        address = f"0000:{bus:02x}:00.0"
        node = f"{nodes}/{gpu + 2}"
        more: dict[str, object] = {
            f"{node}/gpu_id": 51110 + gpu,
            f"{node}/properties": f"simd_count 1216\ngfx_target_version 90402\ndevice_id {device}\n"
            f"location_id {bus << 8}\ndomain 0",
            f"{node}/mem_banks/0/properties": "heap_type 1\nsize_in_bytes 206141652992",
            f"/sys/bus/pci/devices/{address}/vendor": "0x1002",
            f"/sys/bus/pci/devices/{address}/class": "0x120000",
            f"/sys/bus/pci/devices/{address}/numa_node": gpu // 4,
            f"/sys/bus/pci/devices/{address}/vbios_version": "113-M3000100-102",
            f"/sys/bus/pci/devices/{address}/fw_version/mec_fw_version": "0x000000a5",
            f"/sys/bus/pci/devices/{address}/hwmon/hwmon4/power1_cap": 750000000,
            f"/sys/bus/pci/devices/{address}/pp_dpm_sclk": "0: 132Mhz\n1: 2100Mhz *",
        }
        files.update(more)
    if driver:
        files["/sys/module/amdgpu/version"] = driver
    write(root, files)


def rdma(
    root: Path,
    prefix: str,
    vendor: str,
    driver: str,
    gids: list[tuple[str, str]],
    count: int = 8,
    kernel_abi: int = 1,
    firmware: str = "230.2.49.0",
) -> None:
    """``count`` adapters with one active port each; ``{device}`` in a GID is the number of the device."""
    files: dict[str, object] = {"/sys/class/infiniband_verbs/abi_version": 6}
    for number in range(count):
        device, pci = f"/sys/class/infiniband/{prefix}{number}", f"/sys/devices/pci0000:00/0000:0{number + 1}:00.0"
        netdev = f"ens{number + 1}np0"
        more: dict[str, object] = {
            f"{pci}/vendor": vendor,
            f"{pci}/device": "0x1760",
            f"{pci}/numa_node": number // 4,
            f"{pci}/driver": f"->../../../bus/pci/drivers/{driver}",
            f"{pci}/net/{netdev}/mtu": 9000,
            f"/sys/class/net/{netdev}": f"->../../..{pci}/net/{netdev}",
            f"{device}/device": f"->../../../..{pci}",
            f"{device}/fw_ver": firmware,
            f"{device}/node_desc": f"gpu01 {prefix}{number}",
            f"{device}/ports/1/state": "4: ACTIVE",
            f"{device}/ports/1/phys_state": "5: LinkUp",
            f"{device}/ports/1/link_layer": "Ethernet",
            f"{device}/ports/1/rate": "400 Gb/sec (4X NDR)",
            f"/sys/class/infiniband_verbs/uverbs{number}/ibdev": f"{prefix}{number}",
            f"/sys/class/infiniband_verbs/uverbs{number}/abi_version": kernel_abi,
        }
        files.update(more)
        for index, (address, kind) in enumerate(gids):
            files[f"{device}/ports/1/gids/{index}"] = address.format(device=number)
            files[f"{device}/ports/1/gid_attrs/types/{index}"] = kind
            files[f"{device}/ports/1/gid_attrs/ndevs/{index}"] = netdev
        files[f"{device}/ports/1/gids/{len(gids)}"] = EMPTY_GID
    files[f"/sys/module/{driver}/version"] = "1.10.3-230.2.49.0"
    write(root, files)


# The order in which the kernel fills the tables: each address as RoCE v1, then as v2.
BOTH_ROCE = [
    (LINK_LOCAL, "IB/RoCE v1"),
    (LINK_LOCAL, "RoCE v2"),
    (IPV4_MAPPED, "IB/RoCE v1"),
    (IPV4_MAPPED, "RoCE v2"),
]
ONLY_ROCE_V2 = [(LINK_LOCAL, "RoCE v2"), (IPV4_MAPPED, "RoCE v2")]


def mi300x_thor2(root: Path, **system_options: object) -> Path:
    """8 MI300X and 8 Broadcom Thor2 with Broadcom's own driver, whose provider library lies in /usr/local/lib."""
    system(root, **system_options)  # type: ignore[arg-type]
    amd_gpus(root)
    rdma(root, "bnxt_re", "0x14e4", "bnxt_en", BOTH_ROCE, kernel_abi=6)
    provider(root, "/usr/lib/x86_64-linux-gnu/libibverbs", "bnxt_re")
    provider(root, "/usr/local/lib", "bnxt_re", soname="libbnxt_re-rdmav34.so")
    return root


def h100_cx7(root: Path) -> Path:
    """8 H100 and 8 ConnectX-7 under Rocky Linux."""
    system(root, release="rocky")
    write(
        root,
        {
            f"/proc/driver/nvidia/gpus/0000:{bus:02x}:00.0/information": (
                "Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID:   \t GPU-0\nVideo BIOS: \t 96.00.74.00.01"
            )
            for bus in range(0x10, 0x18)
        },
    )
    write(root, {"/sys/module/nvidia/version": "550.90.07"})
    rdma(root, "mlx5_", "0x15b3", "mlx5_core", BOTH_ROCE, count=11, firmware="28.39.2048")
    provider(root, "/usr/lib64/libibverbs", "mlx5", soname="libmlx5.so.1")
    return root


def mi325x_ainic(root: Path) -> Path:
    """8 MI325X and 8 AMD Pensando adapters with an older driver package."""
    system(root)
    amd_gpus(root, device=0x74A5)
    rdma(root, "ionic_", "0x1dd8", "ionic", ONLY_ROCE_V2, kernel_abi=4, firmware="1.117.1-a-63")
    provider(root, "/usr/lib/x86_64-linux-gnu/libibverbs", "ionic")
    return root


def bare(root: Path) -> Path:
    """A machine with nothing of all this, and a kernel for a single NUMA node."""
    system(root, hostname="bare", numa_balancing=None, release="alpine")
    return root


def provider(root: Path, folder: str, driver: str, soname: str | None = None) -> None:
    """A provider library of rdma-core, and the file that makes libibverbs load it."""
    write(root, {f"/etc/libibverbs.d/{driver}.driver": f"driver {driver}"})
    path = root / folder.lstrip("/") / f"lib{driver}-rdmav34.so"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(library(soname, "IBVERBS_PRIVATE_34"))


def library(soname: str | None, *strings: str) -> bytes:
    """A 64-bit ELF file that is nothing but headers, a dynamic section and its strings."""
    names = [*([soname] if soname else []), *strings]
    table = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    headers_end = 64 + 2 * 56
    dynamic = [(5, 0), (10, len(table)), *([(14, 1)] if soname else []), (0, 0)]
    table_offset = headers_end + 16 * len(dynamic)
    size = table_offset + len(table)
    base = 0x1000
    dynamic[0] = (5, base + table_offset)
    identification = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    header = identification + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 0x1000)
    dynamic_size = 16 * len(dynamic)
    dynamic_header = struct.pack("<IIQQQQQQ", 2, 6, headers_end, base + headers_end, 0, dynamic_size, dynamic_size, 8)
    return header + load + dynamic_header + b"".join(struct.pack("<qQ", *entry) for entry in dynamic) + table
