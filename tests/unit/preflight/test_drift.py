from __future__ import annotations

from typing import Any

import pytest


def set_kernel(node) -> None:
    node["kernel"] = "5.15.0-130-generic"


def set_driver(node) -> None:
    node["gpus"]["driver"]["version"] = "6.8.5"


def set_power_cap(node) -> None:
    for device in node["gpus"]["devices"]:
        device["sensors"]["power_limit"] = 550.0


def set_power_cap_of_one(node) -> None:
    node["gpus"]["devices"][3]["sensors"]["power_limit"] = 550.0


def set_nvidia_power_cap(node) -> None:
    set_power_cap(node)
    node["gpus"]["vendor"] = "nvidia"


def set_adapter_driver(node) -> None:
    for device in node["rdma"]["devices"]:
        device["driver_version"] = "1.9.0"


def set_adapter_firmware(node) -> None:
    node["rdma"]["devices"][3]["firmware"] = "229.0.1.0"


def set_gpu_firmware(node) -> None:
    node["gpus"]["devices"][0]["firmware"]["vbios"] = "113 OLD 1"


def set_image(node) -> None:
    node["engines"]["docker"]["image"]["id"] = f"sha256:{'cd' * 32}"


def set_socket_mtu(node) -> None:
    node["network"]["interfaces"]["ens1np0"]["mtu"] = 1500


def set_rdma_mtu(node) -> None:
    for device in node["rdma"]["devices"]:
        device["ports"][0]["mtu"] = 1500


@pytest.mark.parametrize(
    ("change", "check", "code", "here", "most", "command"),
    [
        (
            set_kernel,
            "kernel",
            "kernel_differs",
            {"kernel": ["5.15.0-130-generic"]},
            {"kernel": ["5.15.0-116-generic"]},
            "apt-get install linux-image-5.15.0-116-generic && reboot",
        ),
        (
            set_driver,
            "driver",
            "driver_differs",
            {"amdgpu": ["6.8.5"]},
            {"amdgpu": ["6.10.5"]},
            "manual step: install amdgpu 6.10.5",
        ),
        (
            set_power_cap,
            "gpus",
            "gpu_limits_differs",
            {"power_cap_watts": [550]},
            {"power_cap_watts": [750]},
            "manual step: find out why this node does not have power cap 750 W; to check: amd-smi static --limit",
        ),
        (
            set_power_cap_of_one,
            "gpus",
            "gpu_limits_differs",
            {"power_cap_watts": [550, 750]},
            {"power_cap_watts": [750]},
            "manual step: find out why this node does not have power cap 750 W; to check: amd-smi static --limit",
        ),
        (
            set_nvidia_power_cap,
            "gpus",
            "gpu_limits_differs",
            {"power_cap_watts": [550]},
            {"power_cap_watts": [750]},
            "nvidia-smi --power-limit=750",
        ),
        (
            set_adapter_driver,
            "driver",
            "driver_differs",
            {"bnxt_en": ["1.9.0"]},
            {"bnxt_en": ["1.10.3-230.2.49.0"]},
            "manual step: install bnxt_en 1.10.3-230.2.49.0",
        ),
        (
            set_adapter_firmware,
            "firmware",
            "firmware_differs",
            {"bnxt_re": ["229.0.1.0", "230.2.49.0"]},
            {"bnxt_re": ["230.2.49.0"]},
            "manual step: update the firmware to bnxt_re 230.2.49.0",
        ),
        (
            set_gpu_firmware,
            "firmware",
            "firmware_differs",
            {"GPU vbios": ["113 OLD 1", "113-M3000100-102"]},
            {"GPU vbios": ["113-M3000100-102"]},
            "manual step: update the firmware to GPU vbios 113-M3000100-102",
        ),
        (
            set_image,
            "image",
            "image_differs",
            {"image": [f"sha256:{'cd' * 32}"]},
            {"image": [f"sha256:{'ab' * 32}"]},
            "docker pull rocm/megatron-lm:v25.5_py310   # the other nodes have sha256:abababababab",
        ),
        (
            set_socket_mtu,
            "mtu",
            "mtu_differs",
            {"socket_mtu": [1500]},
            {"socket_mtu": [9000]},
            "ip link set ens1np0 mtu 9000",
        ),
        (
            set_rdma_mtu,
            "mtu",
            "mtu_differs",
            {"rdma_mtu": [1500]},
            {"rdma_mtu": [9000]},
            "ip link set ens1np0 mtu 9000",
        ),
    ],
)
def test_the_node_that_differs_from_most_is_red(
    bench, change, check: str, code: str, here: dict[str, list[Any]], most: dict[str, list[Any]], command: str
) -> None:
    nodes = bench(count=4)
    change(nodes[3])
    assert nodes.reds() == [("gpu03", check)]
    cell = nodes.cell(check, 3)
    assert (cell["code"], cell["case"], cell["command"]) == (code, "", command)
    assert {name: cell["values"][name] for name in ("here", "most", "nodes", "nodes_judged")} == {
        "here": here,
        "most": most,
        "nodes": 3,
        "nodes_judged": 4,
    }


def test_where_none_is_that_of_most_all_are_red(bench) -> None:
    nodes = bench(count=2)
    set_kernel(nodes[2])
    assert nodes.reds() == [("gpu01", "kernel"), ("gpu02", "kernel")]
    assert nodes.code("kernel") == ("red", "kernel_differs", "no_majority")
    assert nodes.cell("kernel")["values"] == {
        "here": {"kernel": ["5.15.0-116-generic"], "system": ["ubuntu 22.04"]},
        "values": 2,
        "nodes_judged": 2,
    }


@pytest.mark.parametrize("count", [2, 4])
def test_another_bios_or_system_is_yellow_because_nodes_train_with_it(bench, count: int) -> None:
    nodes = bench(count=count)
    nodes[2]["bios"], nodes[2]["os"]["version"] = "3.4a", "24.04"
    for check in ("firmware", "kernel"):
        assert nodes.code(check, 2)[:2] == ("yellow", f"{check}_differs")
        assert nodes.cell(check)["status"] == ("yellow" if count == 2 else "green")
    assert nodes.reds() == []
    nodes[2]["kernel"] = "5.15.0-130-generic"
    assert nodes.cell("kernel", 2)["status"] == "red"


def test_a_node_of_which_it_is_not_known_is_not_judged(bench) -> None:
    nodes = bench(count=3)
    nodes[2]["kernel"] = None
    assert [nodes.cell("kernel", number)["status"] for number in (1, 2, 3)] == ["green", "grey", "green"]


def test_an_image_that_one_node_has_still_to_fetch_is_no_drift(bench) -> None:
    nodes = bench(count=3)
    nodes[2]["engines"]["docker"]["image"] = None
    assert nodes.reds() == []
    assert nodes.cell("image", 2)["status"] == "grey"
