"""Traffic of RDMA ports, read from trees of counters as each driver names them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node import machine_changes, rdma_traffic
from ansible_collections.trainops.cluster.plugins.module_utils.node.machine_changes import noted
from ansible_collections.trainops.cluster.plugins.module_utils.node.rdma_traffic import bytes_moved, traffic_since

COUNTERS = {
    "mlx5_0": {"counters/port_xmit_data": 250, "counters/port_rcv_data": 100, "hw_counters/rx_write_requests": 7},
    "bnxt_re0": {"hw_counters/tx_bytes": 1000, "hw_counters/rx_bytes": 400, "hw_counters/tx_pkts": 3},
    # A newer kernel also makes it answer for InfiniBand's own counters.
    "bnxt_re1": {"hw_counters/tx_bytes": 1000, "hw_counters/rx_bytes": 400, "counters/port_xmit_data": 9},
    "ionic_0": {"hw_counters/tx_rdma_ucast_bytes": 1000, "hw_counters/rx_rdma_ucast_bytes": 400},
    "rdmap0s6": {"hw_counters/tx_bytes": 1000, "hw_counters/rx_bytes": 400, "hw_counters/rdma_read_bytes": 300},
}


def tree(root: Path, counters: dict[str, dict[str, int]], factor: int = 1) -> str:
    for device, files in counters.items():
        for name, value in files.items():
            path = root / "sys/class/infiniband" / device / "ports/1" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{value * factor}\n")
    return str(root)


@pytest.mark.parametrize("device", COUNTERS)
def test_each_driver_counts_bytes_under_its_own_names_and_in_its_own_unit(device: str, tmp_path: Path) -> None:
    assert bytes_moved(tree(tmp_path, {device: COUNTERS[device]})) == {f"{device}/1": [1000, 400]}


def test_what_was_moved_during_a_run_is_what_each_port_counted_since(tmp_path: Path) -> None:
    before = noted(tree(tmp_path, COUNTERS))
    assert traffic_since(before, str(tmp_path))["mlx5_0/1"] == {"sent": 0, "received": 0}
    tree(tmp_path, COUNTERS, factor=4)
    assert traffic_since(before, str(tmp_path)) == {
        f"{device}/1": {"sent": 3000, "received": 1200} for device in COUNTERS
    }


def test_a_counter_that_was_set_back_counts_from_zero(tmp_path: Path) -> None:
    before = noted(tree(tmp_path, COUNTERS, factor=9))
    tree(tmp_path, COUNTERS)
    assert traffic_since(before, str(tmp_path))["ionic_0/1"] == {"sent": 1000, "received": 400}


@pytest.mark.parametrize(
    "counters",
    [
        {},
        {"rxe0": {"hw_counters/sent_pkts": 7}},
        {"ionic_0": {"hw_counters/tx_rdma_ucast_bytes": 2**64 - 1, "hw_counters/rx_rdma_ucast_bytes": 2**64 - 1}},
        {"bnxt_re0": {"hw_counters/tx_bytes": 7}},
    ],
    ids=["no device", "packets alone", "not counted", "half of it"],
)
def test_a_port_that_does_not_count_bytes_is_not_one_that_moved_none(counters, tmp_path: Path) -> None:
    assert bytes_moved(tree(tmp_path, counters)) == {}


def test_a_run_that_an_earlier_release_started_has_no_traffic_that_is_known(tmp_path: Path) -> None:
    before = noted(tree(tmp_path, COUNTERS))
    del before["traffic"]
    assert traffic_since(before, str(tmp_path)) == {}


def test_a_training_is_asked_what_its_ports_moved_while_it_runs_at_its_end_and_never_of_what_came_later(
    tmp_path: Path, training, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree(tmp_path, COUNTERS)
    monkeypatch.setattr(rdma_traffic, "bytes_moved", lambda _root="/": bytes_moved(root))
    monkeypatch.setattr(machine_changes, "bytes_moved", lambda _root="/": bytes_moved(root))
    run = training("touch begun\nwhile [ ! -e done ]; do sleep 0.01; done")
    run.begin_until("begun")
    tree(tmp_path, COUNTERS, factor=2)
    assert run.follow(sample=True)["traffic"]["ionic_0/1"] == {"sent": 1000, "received": 400}
    assert "traffic" not in run.follow()
    tree(tmp_path, COUNTERS, factor=3)
    run.in_workspace("done").touch()
    assert run.follow(wait_seconds=600)["traffic"]["ionic_0/1"] == {"sent": 2000, "received": 800}
    tree(tmp_path, COUNTERS, factor=9)
    assert run.stop()["traffic"]["ionic_0/1"] == {"sent": 2000, "received": 800}
    assert run.follow()["traffic"]["ionic_0/1"] == {"sent": 2000, "received": 800}
