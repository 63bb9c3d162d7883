from __future__ import annotations

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
    node["gpus"]["devices"][0]["firmware"]["vbios"] = "113-OLD"


def set_image(node) -> None:
    node["engines"]["docker"]["image"]["id"] = f"sha256:{'cd' * 32}"


def set_socket_mtu(node) -> None:
    node["network"]["interfaces"]["ens1np0"]["mtu"] = 1500


def set_rdma_mtu(node) -> None:
    for device in node["rdma"]["devices"]:
        device["ports"][0]["mtu"] = 1500


@pytest.mark.parametrize(
    ("change", "check", "reason", "command"),
    [
        (
            set_kernel,
            "kernel",
            "kernel 5.15.0-130-generic here, 5.15.0-116-generic on 3 of 4 nodes",
            "apt-get install linux-image-5.15.0-116-generic && reboot",
        ),
        (
            set_driver,
            "driver",
            "driver amdgpu 6.8.5 here, amdgpu 6.10.5 on 3 of 4 nodes",
            "manual step: install amdgpu 6.10.5",
        ),
        (
            set_power_cap,
            "gpus",
            "GPU limits: power cap 550 W here, power cap 750 W on 3 of 4 nodes",
            "manual step: find out why this node does not have power cap 750 W; to check: amd-smi static --limit",
        ),
        (
            set_power_cap_of_one,
            "gpus",
            "GPU limits: power cap 550/750 W here, power cap 750 W on 3 of 4 nodes",
            "manual step: find out why this node does not have power cap 750 W; to check: amd-smi static --limit",
        ),
        (
            set_nvidia_power_cap,
            "gpus",
            "GPU limits: power cap 550 W here, power cap 750 W on 3 of 4 nodes",
            "nvidia-smi --power-limit=750",
        ),
        (
            set_adapter_driver,
            "driver",
            "driver bnxt_en 1.9.0 here, bnxt_en 1.10.3-230.2.49.0 on 3 of 4 nodes",
            "manual step: install bnxt_en 1.10.3-230.2.49.0",
        ),
        (
            set_adapter_firmware,
            "firmware",
            "firmware bnxt_re 229.0.1.0, bnxt_re 230.2.49.0 here, bnxt_re 230.2.49.0 on 3 of 4 nodes",
            "manual step: update the firmware to bnxt_re 230.2.49.0",
        ),
        (
            set_gpu_firmware,
            "firmware",
            "firmware GPU vbios 113-M3000100-102, GPU vbios 113-OLD here, GPU vbios 113-M3000100-102 on 3 of 4 nodes",
            "manual step: update the firmware to GPU vbios 113-M3000100-102",
        ),
        (
            set_image,
            "image",
            f"image sha256:{'cd' * 32} here, sha256:{'ab' * 32} on 3 of 4 nodes",
            "docker pull rocm/megatron-lm:v25.5_py310   # the other nodes have sha256:abababababab",
        ),
        (set_socket_mtu, "mtu", "MTU socket 1500 here, socket 9000 on 3 of 4 nodes", "ip link set ens1np0 mtu 9000"),
        (set_rdma_mtu, "mtu", "MTU RDMA 1500 here, RDMA 9000 on 3 of 4 nodes", "ip link set ens1np0 mtu 9000"),
    ],
)
def test_the_node_that_differs_from_most_is_red(bench, change, check: str, reason: str, command: str) -> None:
    nodes = bench(count=4)
    change(nodes[3])
    assert nodes.reds() == [("gpu03", check)]
    assert (nodes.cell(check, 3)["reason"], nodes.cell(check, 3)["command"]) == (reason, command)


def test_where_none_is_that_of_most_all_are_red(bench) -> None:
    nodes = bench(count=2)
    set_kernel(nodes[2])
    assert nodes.reds() == [("gpu01", "kernel"), ("gpu02", "kernel")]
    assert (
        nodes.cell("kernel")["reason"]
        == "kernel 5.15.0-116-generic here; 2 different values on 2 nodes, none with a majority"
    )


def test_a_node_of_which_it_is_not_known_is_not_judged(bench) -> None:
    nodes = bench(count=3)
    nodes[2]["kernel"] = None
    assert [nodes.cell("kernel", number)["status"] for number in (1, 2, 3)] == ["green", "grey", "green"]


def test_an_image_that_one_node_has_still_to_fetch_is_no_drift(bench) -> None:
    nodes = bench(count=3)
    nodes[2]["engines"]["docker"]["image"] = None
    assert nodes.reds() == []
    assert nodes.cell("image", 2)["status"] == "grey"
