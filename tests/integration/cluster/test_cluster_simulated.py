# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import _simulated

if t.TYPE_CHECKING:
    from pathlib import Path


def test_the_adapter_has_what_rdma_core_and_nccl_read(tmp_path: Path) -> None:
    _simulated.write_adapter(tmp_path, interface="fab0", hardware_address="02:00:00:48:01:01", address="10.78.72.1")

    adapter = tmp_path / "infiniband/bnxt_re0"
    table = [
        ((adapter / f"ports/1/gids/{index}").read_text(), (adapter / f"ports/1/gid_attrs/types/{index}").read_text())
        for index in range(4)
    ]
    assert table == [
        ("fe80:0000:0000:0000:0000:00ff:fe48:0101\n", "IB/RoCE v1\n"),
        ("fe80:0000:0000:0000:0000:00ff:fe48:0101\n", "RoCE v2\n"),
        ("0000:0000:0000:0000:0000:ffff:0a4e:4801\n", "IB/RoCE v1\n"),
        ("0000:0000:0000:0000:0000:ffff:0a4e:4801\n", "RoCE v2\n"),
    ]
    assert (adapter / "ports/1/gid_attrs/ndevs/3").read_text() == "fab0\n"
    assert (adapter / "node_guid").read_text() == "0000:00ff:fe48:0101\n"
    assert (adapter / "device/vendor").read_text() == "0x14e4\n"
    assert (adapter / "device/net/fab0").resolve() == tmp_path / "net/fab0"
    assert (tmp_path / "infiniband_verbs/uverbs0/ibdev").read_text() == "bnxt_re0\n"


def test_the_adapter_says_that_it_is_simulated(tmp_path: Path) -> None:
    _simulated.write_adapter(tmp_path, interface="fab0", hardware_address="02:00:00:48:01:01", address="10.78.72.1")

    assert "simulated" in (tmp_path / "infiniband/bnxt_re0/node_desc").read_text()
