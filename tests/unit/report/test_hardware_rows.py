# SPDX-License-Identifier: GPL-3.0-or-later
"""The hardware of the nodes, as rows of the page."""

from __future__ import annotations

import typing as t

from ansible_collections.trainops.cluster.plugins.plugin_utils.contracts import Status
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.node_rows import hardware_rows
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.status import status_of


def test_a_network_adapter_says_only_what_is_known_of_it() -> None:
    adapter = {"name": "mlx5_0", "driver": "mlx5_core", "driver_version": None, "firmware": None, "rate": None}
    nothing = dict.fromkeys(adapter)
    (row,) = hardware_rows([status("node0", nics=[adapter, nothing])])
    assert row["nics"] == ["1 × mlx5_core", "1 × unknown"]


def status(node: str, **changes: t.Any) -> Status:
    nic = {"driver": "bnxt_en", "driver_version": "1.10.3", "firmware": "229.2", "rate": "400 Gb/sec"}
    hardware = {
        "os": "Ubuntu 22.04.5 LTS",
        "kernel": "5.15.0-122-generic",
        "cpu": "192 × AMD EPYC 9654",
        "accelerators": {
            "name": "AMD Instinct MI300X",
            "count": 8,
            "driver": "amdgpu",
            "driver_version": "6.10.5",
            "firmware": {"vbios": "113-M3000100-102"},
        },
        "nics": [{"name": f"bnxt_re{place}", **nic} for place in range(8)],
        **changes,
    }
    return status_of({"node": node, "status": "exited", "image_id": "sha256:abc", "hardware": hardware})


def test_nodes_that_are_alike_share_a_row() -> None:
    (row,) = hardware_rows([status(f"gpu{rank}") for rank in range(128)])
    assert row == {
        "nodes": "gpu[0-127]",
        "accelerators": "8 × AMD Instinct MI300X",
        "driver": "amdgpu 6.10.5",
        "firmware": "vbios 113-M3000100-102",
        "nics": ["8 × bnxt_en 1.10.3, firmware 229.2, 400 Gb/sec"],
        "system": "Ubuntu 22.04.5 LTS, kernel 5.15.0-122-generic",
        "cpu": "192 × AMD EPYC 9654",
        "image": "sha256:abc",
    }


def test_a_node_that_is_otherwise_has_a_row_of_its_own_behind_the_others() -> None:
    rows = hardware_rows([status("gpu0", kernel="6.8.0"), status("gpu1"), status("gpu2")])
    assert [(row["nodes"], row["system"].split()[-1]) for row in rows] == [
        ("gpu[1-2]", "5.15.0-122-generic"),
        ("gpu0", "6.8.0"),
    ]


def test_what_is_not_known_is_left_open() -> None:
    (row,) = hardware_rows([status_of({"node": "gpu0", "image_id": "sha256:abc"})])
    assert row == {
        "nodes": "gpu0",
        **dict.fromkeys(("accelerators", "driver", "firmware", "system", "cpu")),
        "nics": [],
        "image": "sha256:abc",
    }
    assert hardware_rows([status_of({"node": "gpu0", "status": "not_started"})]) == []
