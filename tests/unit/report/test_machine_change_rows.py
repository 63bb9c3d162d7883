from __future__ import annotations

from ansible_collections.trainops.cluster.plugins.plugin_utils.contracts import Status
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.node_rows import (
    machine_change_rows,
    unread_kernel_logs,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.status import status_of

QUIET: dict = {"booted": False, "counters": {}, "links_down": [], "kernel_log": [], "kernel_lines": 0}
QUIET |= {"kernel_failures": [], "facts": []}


def status(node: str, **changes) -> Status:
    return status_of({"node": node, "status": "exited", "machine_changes": QUIET | changes})


def test_nodes_on_which_nothing_happened_have_no_row():
    assert machine_change_rows([status("gpu1"), status_of({"node": "gpu2", "status": "unreachable"})]) == []


def test_nodes_to_which_the_same_happened_share_a_row_and_a_boot_comes_first():
    errors = {"counters": {"mlx5_0/1 symbol_error": 7}}
    rows = machine_change_rows(
        [
            *(status(f"gpu{number}", **errors) for number in range(1, 65)),
            status("gpu65", booted=True),
            status("gpu66", kernel_log=["NVRM: Xid 79"], kernel_lines=12),
        ]
    )
    assert [(row["nodes"], row["booted"], row["counters"], row["kernel_log"], row["more"]) for row in rows] == [
        ("gpu65", True, [], [], 0),
        ("gpu66", False, [], ["NVRM: Xid 79"], 11),
        ("gpu[1-64]", False, ["mlx5_0/1 symbol_error +7"], [], 0),
    ]


def fact(name: str, seconds: float, recovered: bool = False) -> dict:
    return {"fact": name, "device": "", "line": "x", "count": 1, "seconds": seconds, "recovered": recovered}


def test_what_the_kernel_says_is_told_in_words_and_a_fault_comes_first():
    rows = machine_change_rows(
        [
            status("gpu1", facts=[fact("edac_ce", 5.0)], kernel_lines=99),
            status("gpu2", facts=[fact("xid_48", 5.0, recovered=True), fact("xid_94", 6.0)]),
            status("gpu3", facts=[fact("xid_79", 5.0)]),
            status("gpu4", facts=[fact("edac_ce", 77.0)], kernel_lines=99),
            status("gpu5", links_down=["mlx5_0/1"]),
        ]
    )
    assert [(row["nodes"], len(row["faults"]), len(row["notes"]), row["counters"]) for row in rows] == [
        ("gpu3", 1, 0, []),
        ("gpu[1,4]", 0, 1, []),
        ("gpu2", 0, 2, []),
        ("gpu5", 0, 0, ["mlx5_0/1 has no link"]),
    ]


def test_a_kernel_log_that_could_not_be_read_is_said_and_taken_for_no_quiet_one():
    assert (
        unread_kernel_logs([status("gpu1", kernel_log=None), status("gpu2", kernel_log=None), status("gpu3")])
        == "gpu[1-2]"
    )
