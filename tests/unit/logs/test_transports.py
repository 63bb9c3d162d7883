from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.transports import named_networks

NODE = "gpu01:4711:4899 [3] NCCL INFO "

TEST_LINES = [
    (f"{NODE}NET/IB : Using [0]rdma0:1/RoCE [1]rdma1:1/RoCE [RO]; OOB ens50:10.0.0.1<0>", "NET/IB"),
    (f"{NODE}NET/Socket : Using [0]ens50:10.0.0.1<0>", "NET/Socket"),
    (f"{NODE}Using network IB", "NET/IB"),
    (f"{NODE}Using network Socket", "NET/Socket"),
    (f"{NODE}Using network AWS Libfabric", "NET/OFI"),
    (f"{NODE}Using network Libfabric", "NET/OFI"),
    (f"{NODE}Assigned NET plugin IB to comm", "NET/IB"),
    (f"{NODE}Assigned NET plugin IBext_v8 to comm", "NET/IBext_v8"),
    (f"{NODE}NET/OFI Selected Provider is efa (found 4 nics)", "NET/OFI"),
    (f"{NODE}NET/OFI Selected provider is tcp, fabric is 10.0.0.0/16 (found 1 nics)", "NET/Socket"),
    (f"{NODE}NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)", "NET/OFI"),
    (f"{NODE}Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA", "NET/IB"),
    (f"{NODE}Channel 03 : 15[a01d0] -> 6[a01c0] [send] via NET/IB/3", "NET/IB"),
    (f"{NODE}Ring 00 : 3 -> 4 [receive] via NET/Socket/0", "NET/Socket"),
    (f"{NODE}Channel 01/1 : 4[0] -> 0[0] [receive] via NET/Socket/1/Shared comm 0x9b nRanks 16", "NET/Socket"),
    (f"{NODE}Channel 00/0 : 3[0] -> 0[0] [receive] via NET/Libfabric/0/GDRDMA", "NET/OFI"),
    (f"{NODE}Channel 00/0 : 3[0] -> 0[0] [receive] via NET/AWS Libfabric/2/GDRDMA/Shared", "NET/OFI"),
    (f"10%|#  | 1/10{NODE}Using network IB", "NET/IB"),
]


def networks(*lines: str, known: bool = False) -> set[str]:
    return named_networks(Piece("".join(f"{line}\n" for line in lines).encode()), known)


@pytest.mark.parametrize(("line", "name"), TEST_LINES, ids=[line[-40:] for line, _ in TEST_LINES])
def test_each_line_that_names_a_network_is_understood(line: str, name: str) -> None:
    assert networks("noise", f"{line}\r", "noise") == {name}


@pytest.mark.parametrize(
    "line",
    [
        f"{NODE}NET/IB : No device found.",
        f"{NODE}NET/IB : GPU Direct RDMA Enabled for HCA 0 'rdma0'",
        f"{NODE}NET/Plugin : Could not find: librccl-net.so",
        f"{NODE}Initialized NET plugin Socket",
        f"{NODE}Channel 00/0 : 0[0] -> 1[1] via P2P/IPC",
        f"{NODE}Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct",
        "gpu01:1:2 [4] NCCL WARN NET/IB : Got completion from peer 10.0.0.1<1> with status=12 opcode=0 len=0",
        f"{NODE}NCCL_NET set by environment to Socket.",
        "Using network drive /data",
        "see https://docs.example.com/NET/IB/3",
        f"{NODE}Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB",
    ],
)
def test_other_lines_name_none(line: str) -> None:
    assert networks(line) == set()


IB = f"{NODE}Channel 00/0 : 8[0] -> 0[0] [send] via NET/IB/0"
UCX = f"{NODE}Channel 00/0 : 8[0] -> 0[0] [send] via NET/UCX/0"
TCP = f"{NODE}Channel 00/0 : 8[0] -> 0[0] [send] via NET/Socket/0"


def test_of_connections_the_first_one_counts_where_nothing_named_a_network_before() -> None:
    assert networks(f"{NODE}Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB", IB, UCX) == {"NET/IB"}
    assert networks(IB, f"{NODE}Using network UCX") == {"NET/IB", "NET/UCX"}
    assert networks(f"{NODE}Using network IB", UCX, f"{NODE}Using network OFI") == {"NET/IB", "NET/OFI"}
    assert networks(UCX, known=True) == set()


def test_a_connection_over_tcp_always_counts() -> None:
    assert networks(IB, IB, TCP) == {"NET/IB", "NET/Socket"}
    assert networks(f"{NODE}Using network IB", TCP) == {"NET/IB", "NET/Socket"}
    assert networks(IB, TCP, known=True) == {"NET/Socket"}
    assert networks("/Socket/0", f"{NODE}NCCL_TOPO_FILE set by environment to /Socket/0", known=True) == set()
