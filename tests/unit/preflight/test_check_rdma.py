from __future__ import annotations

import pytest
from node_trees import h100_cx7, mi325x_ainic
from preflight_cases import LIBRARY

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.rdma import rdma_devices


def test_a_device_that_is_not_there_is_named(bench) -> None:
    nodes = bench(nccl_ib_hca_list="bnxt_re0,bnxt_re9")
    cell = nodes.cell("rdma")
    assert (cell["status"], cell["code"], cell["case"]) == ("red", "rdma_missing", "named")
    there = [f"bnxt_re{number}" for number in range(8)]
    assert (cell["values"]["missing"], cell["values"]["there"]) == (["bnxt_re9"], there)


def test_without_any_device_the_driver_is_to_be_loaded(bench) -> None:
    nodes = bench()
    nodes[1]["rdma"]["devices"] = []
    assert nodes.cell("rdma")["command"] == "modprobe bnxt_re"
    assert nodes.cell("gid")["status"] == nodes.cell("provider")["status"] == "grey"


def test_without_any_device_and_kind_the_names_tell(bench) -> None:
    nodes = bench(nic_type=None, nccl_ib_hca_list="bnxt_re0")
    nodes[1]["rdma"]["devices"] = []
    cell = nodes.cell("rdma")
    assert (cell["code"], cell["case"], cell["values"]["missing"]) == ("rdma_missing", "named_of_none", ["bnxt_re0"])
    assert "lspci" in cell["command"]


def test_a_port_that_is_down(bench) -> None:
    nodes = bench()
    nodes[2]["rdma"]["devices"][3]["ports"][0].update(state="DOWN", physical_state="Disabled")
    cell = nodes.cell("rdma", 2)
    port = {"device": "bnxt_re3", "state": "DOWN", "physical_state": "Disabled", "interface": "ens4np0"}
    assert (cell["code"], cell["values"]) == ("rdma_port_down", {"count": 1, "ports": [port]})
    assert cell["command"] == "ip link set ens4np0 up"


def test_adapters_of_another_kind_than_nic_type(bench) -> None:
    nodes = bench(nic_type="cx7")
    cell = nodes.cell("rdma")
    assert (cell["status"], cell["code"]) == ("red", "rdma_of_other_kind")
    assert cell["values"] == {"nic_type": "cx7", "wanted": "mlx5", "device": "bnxt_re0", "provider": "bnxt_re"}


def test_a_nic_type_that_nobody_knows(bench) -> None:
    nodes = bench(nic_type="token_ring")
    assert nodes.code("rdma") == ("red", "nic_type_unknown", "")
    assert nodes.cell("rdma")["values"] == {"nic_type": "token_ring", "known": ["thor2", "ainic", "cx7"]}


def test_without_names_all_devices_of_the_kind_are_meant(bench) -> None:
    nodes = bench(nccl_ib_hca_list=None)
    assert nodes.code("rdma") == ("green", "rdma", "")
    assert nodes.cell("rdma")["values"] == {"count": 8, "provider": "bnxt_re"}


def test_without_names_and_kind_no_rdma_is_meant(bench) -> None:
    nodes = bench(nccl_ib_hca_list=None, nic_type=None)
    nodes[1]["rdma"]["devices"] = []
    assert [nodes.cell(check)["status"] for check in ("rdma", "gid", "provider")] == ["grey"] * 3


@pytest.mark.parametrize(
    ("index", "code", "values"),
    [
        (2, "gid_unfit", {"type": "RoCE v1", "address": "192.168.0.1"}),
        (1, "gid_unfit", {"type": "RoCE v2", "address": "fe80::be97:e1ff:fe00:0"}),
        (9, "gid_missing", {}),
    ],
)
def test_a_gid_index_that_does_not_fit(bench, index: int, code: str, values: dict[str, str]) -> None:
    cell = bench(nccl_ib_gid_index=str(index)).cell("gid")
    assert (cell["status"], cell["code"], cell["case"]) == ("red", code, "")
    assert cell["values"] == {"device": "bnxt_re0", "better": 3, "index": index, "text": str(index), **values}
    assert cell["command"] == "set nccl_ib_gid_index in the config to 3"


@pytest.mark.parametrize(
    ("text", "code", "index"),
    [
        ("-1", ("green", "gid", "proposed"), 3),
        ("0x3", ("green", "gid", "read"), 3),
        ("03", ("green", "gid", "read"), 3),
        (" 3", ("green", "gid", "read"), 3),
        ("abc", ("red", "gid_unfit", "read"), 0),
        ("auto", ("red", "gid_unfit", "read"), 0),
        ("99", ("red", "gid_missing", ""), 99),
    ],
)
def test_the_gid_index_is_what_nccl_reads(bench, text: str, code: tuple[str, ...], index: int) -> None:
    nodes = bench(nccl_ib_gid_index=None)
    for node in nodes.plan["nodes"]:
        node["env"]["NCCL_IB_GID_INDEX"] = text
    assert (nodes.code("gid"), nodes.cell("gid")["values"]["index"]) == (code, index)


@pytest.mark.parametrize(("text", "status"), [("0", "green"), ("no", "green"), ("1", "grey"), ("0x1", "grey")])
def test_rdma_is_off_where_nccl_reads_that(bench, text: str, status: str) -> None:
    nodes = bench()
    nodes.plan["nodes"][0]["env"]["NCCL_IB_DISABLE"] = text
    assert nodes.cell("rdma")["status"] == status


def test_one_device_with_another_table_is_enough(bench) -> None:
    nodes = bench()
    del nodes[2]["rdma"]["devices"][7]["ports"][0]["gids"][3]
    assert nodes.cell("gid", 1)["status"] == "green"
    assert nodes.code("gid", 2) == ("red", "gid_missing", "")
    assert nodes.cell("gid", 2)["values"] == {"device": "bnxt_re7", "better": None, "index": 3, "text": "3"}


def test_no_index_that_fits_all_nodes(bench) -> None:
    nodes = bench(nccl_ib_gid_index=None)
    nodes[2]["rdma"]["devices"][7]["ports"][0]["gids"] = []
    nodes[1]["rdma"]["devices"][0]["ports"][0]["netdev"] = None
    assert nodes.cell("gid", 1)["values"] == {"interface": ""}
    assert nodes.code("gid", 1) == nodes.code("gid", 2) == ("red", "gid_fits_nowhere", "")
    assert "nccl_ib_gid_index" not in nodes.result()["proposals"]


def test_infiniband_needs_no_index(bench) -> None:
    nodes = bench(nccl_ib_gid_index=None)
    for number in (1, 2):
        for device in nodes[number]["rdma"]["devices"]:
            device["ports"][0]["link_layer"] = "InfiniBand"
    assert nodes.code("gid") == ("grey", "no_roce", "")


def test_ainic_has_a_rule_of_its_own(bench, tmp_path) -> None:
    names = ",".join(f"ionic_{number}" for number in range(8))
    nodes = bench(
        nic_type="ainic", nccl_ib_hca_list=names, nccl_ib_gid_index=None, volume_dict={"/home/ops": "/home/ops"}
    )
    for number in (1, 2):
        nodes[number]["rdma"]["devices"] = rdma_devices(str(mi325x_ainic(tmp_path / f"ainic{number}")))
    assert nodes.cell("rdma")["values"] == {"count": 8, "provider": "ionic"}
    assert nodes.result()["proposals"] == {"nccl_ib_gid_index": 1}
    # Images differ in the ABI that their ionic provider knows, so none is refused.
    assert nodes.code("provider") == ("grey", "provider_of_image", "")


def test_cx7_has_a_rule_of_its_own(bench, tmp_path) -> None:
    nodes = bench(
        nic_type="cx7", nccl_ib_hca_list="mlx5_0,mlx5_1", nccl_ib_gid_index=None, volume_dict={"/home/ops": "/home/ops"}
    )
    for number in (1, 2):
        nodes[number]["rdma"]["devices"] = rdma_devices(str(h100_cx7(tmp_path / f"cx7{number}")))
    # mlx5_1 is the beginning of mlx5_10 too, as NCCL reads it.
    assert nodes.cell("rdma")["values"] == {"count": 3, "provider": "mlx5"}
    assert nodes.result()["proposals"] == {"nccl_ib_gid_index": 3}
    assert nodes.code("provider") == ("green", "provider_of_image", "")


def test_a_mounted_library_that_is_missing_is_never_made_a_folder(bench) -> None:
    nodes = bench()
    nodes[1]["paths"][LIBRARY].update(kind="missing")
    nodes[2]["paths"][LIBRARY].update(kind="directory")
    first, second = nodes.cell("provider", 1), nodes.cell("provider", 2)
    assert first["values"] == {"kind": "missing", "problems": [{"code": "library_missing", "path": LIBRARY}]}
    assert (
        first["command"]
        == f"ansible-playbook playbooks/node_prep.yml -i INVENTORY -e node_prep_rdma_library_path={LIBRARY}"
    )
    assert second["values"]["problems"] == [{"code": "library_is_folder", "path": LIBRARY}]
    assert second["command"] == f"rmdir {LIBRARY}"
    # It is reported once, and not with the other mounts again.
    assert nodes.cell("mounts")["status"] == "green"


def test_a_mounted_file_that_is_no_library(bench) -> None:
    nodes = bench()
    nodes[1]["paths"][LIBRARY]["library"] = {"problem": "it cannot be read as a shared library: it is not an ELF file"}
    assert nodes.code("provider") == ("red", "library_unusable", "unreadable")


def test_a_library_for_another_libibverbs_than_the_image_has(bench) -> None:
    nodes = bench()
    nodes[1]["paths"][LIBRARY]["library"]["rdma_abi"] = 59
    assert nodes.code("provider") == ("red", "library_unusable", "abi")
    assert nodes.cell("provider")["values"] == {"path": LIBRARY, "abi": 59, "wanted": 34}


def test_a_library_that_could_not_be_looked_at_is_not_judged(bench) -> None:
    nodes = bench()
    nodes[1]["paths"][LIBRARY] = None
    nodes[1]["problems"][LIBRARY] = "no answer within 10 s"
    assert nodes.code("provider") == ("grey", "unknown", "said")
    assert nodes.cell("provider")["values"] == {"said": "no answer within 10 s"}


def test_a_vendor_driver_without_its_library_mounted(bench) -> None:
    nodes = bench(volume_dict={"/home/ops": "/home/ops"})
    cell = nodes.cell("provider")
    library = "libbnxt_re-rdmav34.so"
    assert (cell["status"], cell["code"]) == ("red", "abi_not_of_image")
    assert cell["values"] == {"device": "bnxt_re0", "abi": 6, "supported": 1, "library": library}
    for device in nodes[1]["rdma"]["devices"]:
        device["kernel_abi"] = 1
    assert nodes.cell("provider")["status"] == "green"


class TestWithoutContainer:
    @pytest.fixture
    def nodes(self, bench):
        return bench(engine="none")

    def test_the_nodes_own_library_is_used(self, nodes) -> None:
        assert nodes.code("provider") == ("green", "provider_of_node", "")

    def test_it_has_to_be_there(self, nodes) -> None:
        nodes[1]["rdma"]["libraries"] = []
        cell = nodes.cell("provider")
        assert (cell["code"], cell["values"]) == ("provider_missing", {"provider": "bnxt_re"})
        assert cell["command"] == "apt-get install rdma-core ibverbs-providers"

    def test_it_has_to_know_the_kernel_driver(self, nodes) -> None:
        warning = "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to 1)"
        nodes[1]["rdma"]["verbs"] = {"devices": 0, "warnings": [warning]}
        assert nodes.code("provider") == ("red", "abi_not_supported", "")
        assert nodes.cell("provider")["values"] == {"said": warning}

    def test_it_has_to_offer_all_devices(self, nodes) -> None:
        nodes[1]["rdma"]["verbs"]["devices"] = 7
        assert nodes.code("provider") == ("red", "verbs_devices_missing", "")
        assert nodes.cell("provider")["values"] == {"offered": 7, "devices": 8}
        nodes[1]["rdma"]["verbs"]["devices"] = None
        assert nodes.code("provider") == ("red", "verbs_silent", "")

    def test_libibverbs_has_to_be_there(self, nodes) -> None:
        nodes[1]["rdma"]["verbs"] = None
        nodes[1]["problems"]["verbs"] = "OSError: libibverbs.so.1"
        assert nodes.code("provider") == ("red", "verbs_unusable", "")
        assert nodes.cell("provider")["values"] == {"said": "OSError: libibverbs.so.1"}
