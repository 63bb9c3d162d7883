from __future__ import annotations

import pytest
from node_trees import h100_cx7, mi325x_ainic
from preflight_cases import LIBRARY

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.rdma import rdma_devices


def test_a_device_that_is_not_there_is_named(bench) -> None:
    nodes = bench(nccl_ib_hca_list="bnxt_re0,bnxt_re9")
    cell = nodes.cell("rdma")
    there = ", ".join(f"bnxt_re{number}" for number in range(8))
    assert cell["reason"] == f"bnxt_re9 is not among the node's RDMA devices: {there}"
    assert cell["command"] == f"set nccl_ib_hca_list in the config to {there.replace(' ', '')}"


def test_without_any_device_the_driver_is_to_be_loaded(bench) -> None:
    nodes = bench()
    nodes[1]["rdma"]["devices"] = []
    assert nodes.cell("rdma")["command"] == "modprobe bnxt_re"
    assert nodes.cell("gid")["status"] == nodes.cell("provider")["status"] == "grey"


def test_without_any_device_and_kind_the_names_tell(bench) -> None:
    nodes = bench(nic_type=None, nccl_ib_hca_list="bnxt_re0")
    nodes[1]["rdma"]["devices"] = []
    cell = nodes.cell("rdma")
    assert cell["reason"] == "bnxt_re0 is not among the node's RDMA devices: it has none"
    assert cell["command"] == "manual step: find the adapter; to check: lspci | grep -Ei 'ethernet|infiniband'"


def test_a_port_that_is_down(bench) -> None:
    nodes = bench()
    nodes[2]["rdma"]["devices"][3]["ports"][0].update(state="DOWN", physical_state="Disabled")
    cell = nodes.cell("rdma", 2)
    assert (cell["reason"], cell["command"]) == ("bnxt_re3 is DOWN (Disabled)", "ip link set ens4np0 up")


def test_adapters_of_another_kind_than_nic_type(bench) -> None:
    nodes = bench(nic_type="cx7")
    cell = nodes.cell("rdma")
    assert cell["reason"] == "nic_type cx7 means mlx5 devices, but bnxt_re0 uses bnxt_re"


def test_a_nic_type_that_nobody_knows(bench) -> None:
    nodes = bench(nic_type="token_ring")
    assert nodes.cell("rdma")["reason"] == "nic_type token_ring is unknown"
    assert nodes.cell("rdma")["command"] == "set nic_type in the config to one of thor2, ainic, cx7"


def test_without_names_all_devices_of_the_kind_are_meant(bench) -> None:
    nodes = bench(nccl_ib_hca_list=None)
    assert nodes.cell("rdma")["found"] == "8 × bnxt_re, active"


def test_without_names_and_kind_no_rdma_is_meant(bench) -> None:
    nodes = bench(nccl_ib_hca_list=None, nic_type=None)
    nodes[1]["rdma"]["devices"] = []
    assert [nodes.cell(check)["status"] for check in ("rdma", "gid", "provider")] == ["grey"] * 3


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        (2, "GID index 2 of bnxt_re0 is RoCE v1 with 192.168.0.1; it must be RoCE v2 with a routable address"),
        (1, "is RoCE v2 with fe80::be97:e1ff:fe00:0; it must be RoCE v2 with a routable address"),
        (9, "the GID table of bnxt_re0 has no index 9"),
    ],
)
def test_a_gid_index_that_does_not_fit(bench, index: int, reason: str) -> None:
    cell = bench(nccl_ib_gid_index=str(index)).cell("gid")
    assert cell["status"] == "red"
    assert reason in cell["reason"]
    assert cell["command"] == "set nccl_ib_gid_index in the config to 3"


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("-1", "green", "3 fits (proposed)"),
        ("0x3", "green", "3 is RoCE v2 (NCCL reads 0x3 as 3)"),
        ("03", "green", "3 is RoCE v2 (NCCL reads 03 as 3)"),
        (" 3", "green", "3 is RoCE v2 (NCCL reads  3 as 3)"),
        ("abc", "red", "routable address (NCCL reads abc as 0)"),
        ("auto", "red", "routable address (NCCL reads auto as 0)"),
        ("99", "red", "the GID table of bnxt_re0 has no index 99"),
    ],
)
def test_the_gid_index_is_what_nccl_reads(bench, text: str, status: str, said: str) -> None:
    nodes = bench(nccl_ib_gid_index=None)
    for node in nodes.plan["nodes"]:
        node["env"]["NCCL_IB_GID_INDEX"] = text
    cell = nodes.cell("gid")
    assert cell["status"] == status
    assert (cell["reason"] or cell["found"]).endswith(said)


@pytest.mark.parametrize(("text", "status"), [("0", "green"), ("no", "green"), ("1", "grey"), ("0x1", "grey")])
def test_rdma_is_off_where_nccl_reads_that(bench, text: str, status: str) -> None:
    nodes = bench()
    nodes.plan["nodes"][0]["env"]["NCCL_IB_DISABLE"] = text
    assert nodes.cell("rdma")["status"] == status


def test_one_device_with_another_table_is_enough(bench) -> None:
    nodes = bench()
    del nodes[2]["rdma"]["devices"][7]["ports"][0]["gids"][3]
    assert nodes.cell("gid", 1)["status"] == "green"
    assert nodes.cell("gid", 2)["reason"] == "the GID table of bnxt_re7 has no index 3"
    assert nodes.cell("gid", 2)["command"].startswith("manual step: assign routable addresses to the ports")


def test_no_index_that_fits_all_nodes(bench) -> None:
    nodes = bench(nccl_ib_gid_index=None)
    nodes[2]["rdma"]["devices"][7]["ports"][0]["gids"] = []
    assert nodes.cell("gid", 1)["status"] == nodes.cell("gid", 2)["status"] == "red"
    assert "nccl_ib_gid_index" not in nodes.result()["proposals"]


def test_infiniband_needs_no_index(bench) -> None:
    nodes = bench(nccl_ib_gid_index=None)
    for number in (1, 2):
        for device in nodes[number]["rdma"]["devices"]:
            device["ports"][0]["link_layer"] = "InfiniBand"
    assert (nodes.cell("gid")["status"], nodes.cell("gid")["found"]) == ("grey", "no RoCE device is used")


def test_ainic_has_a_rule_of_its_own(bench, tmp_path) -> None:
    names = ",".join(f"ionic_{number}" for number in range(8))
    nodes = bench(
        nic_type="ainic", nccl_ib_hca_list=names, nccl_ib_gid_index=None, volume_dict={"/home/ops": "/home/ops"}
    )
    for number in (1, 2):
        nodes[number]["rdma"]["devices"] = rdma_devices(str(mi325x_ainic(tmp_path / f"ainic{number}")))
    assert nodes.cell("rdma")["found"] == "8 × ionic, active"
    assert nodes.result()["proposals"] == {"nccl_ib_gid_index": 1}
    # Images differ in the ABI that their ionic provider knows, so none is refused.
    assert (nodes.cell("provider")["status"], nodes.cell("provider")["found"]) == ("grey", "the image's own")


def test_cx7_has_a_rule_of_its_own(bench, tmp_path) -> None:
    nodes = bench(
        nic_type="cx7", nccl_ib_hca_list="mlx5_0,mlx5_1", nccl_ib_gid_index=None, volume_dict={"/home/ops": "/home/ops"}
    )
    for number in (1, 2):
        nodes[number]["rdma"]["devices"] = rdma_devices(str(h100_cx7(tmp_path / f"cx7{number}")))
    # mlx5_1 is the beginning of mlx5_10 too, as NCCL reads it.
    assert nodes.cell("rdma")["found"] == "3 × mlx5, active"
    assert nodes.result()["proposals"] == {"nccl_ib_gid_index": 3}
    assert (nodes.cell("provider")["status"], nodes.cell("provider")["found"]) == ("green", "the image's own")


def test_a_mounted_library_that_is_missing_is_never_made_a_folder(bench) -> None:
    nodes = bench()
    nodes[1]["paths"][LIBRARY].update(kind="missing")
    nodes[2]["paths"][LIBRARY].update(kind="directory")
    first, second = nodes.cell("provider", 1), nodes.cell("provider", 2)
    assert first["reason"] == f"the library {LIBRARY} does not exist"
    assert first["command"] == f"ansible-playbook playbooks/node_prep.yml -e node_prep_rdma_library_path={LIBRARY}"
    assert second["reason"].startswith(f"{LIBRARY} must be a library, but is a folder")
    assert second["command"] == f"rmdir {LIBRARY}"
    # It is told of once, not with the other mounts as well.
    assert nodes.cell("mounts")["status"] == "green"


def test_a_mounted_file_that_is_no_library(bench) -> None:
    nodes = bench()
    nodes[1]["paths"][LIBRARY]["library"] = {"problem": "it cannot be read as a shared library: it is not an ELF file"}
    assert "it is not an ELF file" in nodes.cell("provider")["reason"]


def test_a_library_that_could_not_be_looked_at_is_not_judged(bench) -> None:
    nodes = bench()
    nodes[1]["paths"][LIBRARY] = None
    nodes[1]["problems"][LIBRARY] = "no answer within 10 s"
    assert (nodes.cell("provider")["status"], nodes.cell("provider")["found"]) == ("grey", "no answer within 10 s")


def test_a_vendor_driver_without_its_library_mounted(bench) -> None:
    nodes = bench(volume_dict={"/home/ops": "/home/ops"})
    cell = nodes.cell("provider")
    assert cell["found"] == "ABI 6"
    assert '"/usr/local/lib/libbnxt_re-rdmav34.so"' in cell["command"]
    for device in nodes[1]["rdma"]["devices"]:
        device["kernel_abi"] = 1
    assert nodes.cell("provider")["status"] == "green"


class TestWithoutContainer:
    @pytest.fixture
    def nodes(self, bench):
        return bench(engine="none")

    def test_the_nodes_own_library_is_used(self, nodes) -> None:
        assert (nodes.cell("provider")["status"], nodes.cell("provider")["found"]) == ("green", "the node's own")

    def test_it_has_to_be_there(self, nodes) -> None:
        nodes[1]["rdma"]["libraries"] = []
        cell = nodes.cell("provider")
        assert cell["reason"] == "libibverbs has no provider library for bnxt_re"
        assert cell["command"] == "apt-get install rdma-core ibverbs-providers"

    def test_it_has_to_know_the_kernel_driver(self, nodes) -> None:
        warning = "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to 1)"
        nodes[1]["rdma"]["verbs"] = {"devices": 0, "warnings": [warning]}
        assert (nodes.cell("provider")["found"], nodes.cell("provider")["reason"]) == ("ABI mismatch", warning)

    def test_it_has_to_offer_all_devices(self, nodes) -> None:
        nodes[1]["rdma"]["verbs"]["devices"] = 7
        assert nodes.cell("provider")["reason"] == "libibverbs reports 7 of the 8 RDMA devices"

    def test_libibverbs_has_to_be_there(self, nodes) -> None:
        nodes[1]["rdma"]["verbs"] = None
        nodes[1]["problems"]["verbs"] = "OSError: libibverbs.so.1"
        assert nodes.cell("provider")["reason"] == "libibverbs cannot be used: OSError: libibverbs.so.1"
