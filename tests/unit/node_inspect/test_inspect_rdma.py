from __future__ import annotations

from pathlib import Path

from node_trees import bare, h100_cx7, mi300x_thor2, mi325x_ainic, write

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.providers import (
    configured_drivers,
    provider_libraries,
)
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.rdma import rdma_devices


def test_a_broadcom_adapter_in_full(tmp_path: Path) -> None:
    devices = rdma_devices(str(mi300x_thor2(tmp_path)))
    assert [device["name"] for device in devices] == [f"bnxt_re{number}" for number in range(8)]
    assert devices[1] == {
        "name": "bnxt_re1",
        "description": "gpu01 bnxt_re1",
        "provider": "bnxt_re",
        "model": "0x14e4:0x1760",
        "driver": "bnxt_en",
        "driver_version": "1.10.3-230.2.49.0",
        "firmware": "230.2.49.0",
        "pci_address": "0000:02:00.0",
        "numa_node": 0,
        "kernel_abi": 6,
        "ports": [
            {
                "port": 1,
                "state": "ACTIVE",
                "physical_state": "LinkUp",
                "link_layer": "Ethernet",
                "rate": "400 Gb/sec (4X NDR)",
                "netdev": "ens2np0",
                "mtu": 9000,
                "gids": [
                    {"index": 0, "type": "RoCE v1", "address": "fe80::be97:e1ff:fe00:1", "netdev": "ens2np0"},
                    {"index": 1, "type": "RoCE v2", "address": "fe80::be97:e1ff:fe00:1", "netdev": "ens2np0"},
                    {"index": 2, "type": "RoCE v1", "address": "192.168.1.1", "netdev": "ens2np0"},
                    {"index": 3, "type": "RoCE v2", "address": "192.168.1.1", "netdev": "ens2np0"},
                ],
            }
        ],
    }


def test_other_adapters_are_known_by_their_vendor(tmp_path: Path) -> None:
    (tmp_path / "cx7").mkdir()
    (tmp_path / "ainic").mkdir()
    connectx = rdma_devices(str(h100_cx7(tmp_path / "cx7")))
    assert [device["name"] for device in connectx][-2:] == ["mlx5_9", "mlx5_10"]
    assert {(device["provider"], device["kernel_abi"]) for device in connectx} == {("mlx5", 1)}
    pensando = rdma_devices(str(mi325x_ainic(tmp_path / "ainic")))
    assert {(device["provider"], device["kernel_abi"]) for device in pensando} == {("ionic", 4)}
    assert [gid["index"] for gid in pensando[0]["ports"][0]["gids"]] == [0, 1]


def test_an_infiniband_port_that_is_down_without_an_interface(tmp_path: Path) -> None:
    port = "/sys/class/infiniband/mlx5_0/ports/1"
    write(
        tmp_path,
        {
            f"{port}/state": "1: DOWN",
            f"{port}/phys_state": "3: Disabled",
            f"{port}/link_layer": "InfiniBand",
            f"{port}/gids/0": "fe80:0000:0000:0000:0002:c903:00a1:b2c3",
            f"{port}/gid_attrs/types/0": "IB/RoCE v1",
        },
    )
    (device,) = rdma_devices(str(tmp_path))
    assert (device["provider"], device["driver"], device["kernel_abi"]) == (None, None, None)
    (found,) = device["ports"]
    assert (found["state"], found["physical_state"], found["netdev"], found["mtu"]) == ("DOWN", "Disabled", None, None)


def test_a_node_without_rdma_has_no_devices(tmp_path: Path) -> None:
    root = str(bare(tmp_path))
    assert (rdma_devices(root), provider_libraries(root)) == ([], [])


def test_provider_libraries_wherever_they_lie(tmp_path: Path) -> None:
    assert provider_libraries(str(mi300x_thor2(tmp_path))) == [
        {
            "driver": "bnxt_re",
            "path": "/usr/lib/x86_64-linux-gnu/libibverbs/libbnxt_re-rdmav34.so",
            "configured": True,
            "soname": None,
            "rdma_abi": 34,
        },
        {
            "driver": "bnxt_re",
            "path": "/usr/local/lib/libbnxt_re-rdmav34.so",
            "configured": True,
            "soname": "libbnxt_re-rdmav34.so",
            "rdma_abi": 34,
        },
    ]


def test_a_folder_in_place_of_a_library_is_none(tmp_path: Path) -> None:
    (tmp_path / "usr/local/lib/libbnxt_re-rdmav34.so").mkdir(parents=True)
    assert provider_libraries(str(tmp_path)) == []


def test_drivers_by_name_and_by_path(tmp_path: Path) -> None:
    folder = "/etc/libibverbs.d"
    files = {"mlx5.driver": "driver mlx5", "own.driver": "driver /opt/nic/libionic", "notes.txt": "driver none"}
    write(tmp_path, {f"{folder}/{name}": content for name, content in files.items()})
    assert configured_drivers(str(tmp_path)) == {"mlx5", "ionic"}
    libraries = provider_libraries(str(tmp_path))
    assert libraries == []
