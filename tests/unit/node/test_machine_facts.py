"""The table of kernel messages about a machine: each row with its own sample line."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.machine_facts import (
    ROW_OF,
    ROWS,
    Row,
    facts_in,
    is_failure,
    row_in,
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_row_is_found_in_its_sample_and_says_where_it_comes_from(row: Row) -> None:
    found = row_in(row.sample)
    assert found
    assert found.name == row.name
    assert row.effect in ("fail", "note")
    assert row.source
    assert row.means
    assert set(row.ended_by) <= ROW_OF.keys()


def test_the_names_of_the_rows_are_unique() -> None:
    assert len(ROW_OF) == len(ROWS)


@pytest.mark.parametrize(
    "message",
    [
        "systemd[1]: Started Session 4711 of User ops.",
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.65.06",
        "mlx5_core 0000:0c:00.0 ens1np0: Link up",
        "amdgpu 0000:c5:00.0: amdgpu: 0 uncorrectable hardware errors detected in total in gfx block",
        "pcieport 0000:3a:00.0: AER: enabled with IRQ 44",
        "EXT4-fs (nvme0n1p2): re-mounted. Opts: errors=remount-ro",
    ],
)
def test_ordinary_messages_are_no_facts(message: str) -> None:
    assert row_in(message) is None


def facts_of(*messages: str) -> list[tuple[str, bool]]:
    return [(fact["fact"], is_failure(fact)) for fact in facts_in(enumerate(messages))]


UNCORRECTABLE = ROW_OF["xid_48"].sample
CONTAINED = ROW_OF["xid_94"].sample


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ((UNCORRECTABLE,), [("xid_48", True)]),
        ((UNCORRECTABLE, CONTAINED), [("xid_48", False), ("xid_94", False)]),
        # Contained on another GPU, or before.
        ((UNCORRECTABLE, CONTAINED.replace("3b", "4c")), [("xid_48", True), ("xid_94", False)]),
        ((CONTAINED, UNCORRECTABLE), [("xid_48", True), ("xid_94", False)]),
        ((ROW_OF["amd_reset"].sample, ROW_OF["amd_reset_done"].sample), [("amd_reset", False)] * 1),
        ((ROW_OF["amd_reset_done"].sample, ROW_OF["amd_reset"].sample), [("amd_reset", True)] * 1),
        ((ROW_OF["pcie_fatal"].sample, ROW_OF["pcie_recovered"].sample), [("pcie_fatal", False)]),
        ((ROW_OF["edac_ue"].sample, ROW_OF["memory_contained"].sample), [("edac_ue", False)]),
        (("NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Nonfatal XC1 i0 Link 12",), [("xid_other", False)]),
        (("NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x2 (Reset) to 0x0 (None)",), []),
    ],
    ids=[
        "alone",
        "contained",
        "another GPU",
        "contained before",
        "reset",
        "hung again",
        "recovered",
        "page retired",
        "nonfatal",
        "nothing to recover",
    ],
)
def test_what_was_contained_or_recovered_afterwards_fails_no_run(messages, expected) -> None:
    assert set(expected) <= set(facts_of(*messages))
    assert all(found in expected for found in facts_of(*messages) if found[1])


def test_a_flood_is_one_fact_that_is_counted_and_what_fails_comes_first() -> None:
    flood = [f"pcieport 0000:{bus:02x}:00.0: PCIe Bus Error: severity=Correctable, type=x" for bus in range(90)] * 3
    facts = facts_in(enumerate([*flood, "NVRM: Xid (PCI:0000:3b:00): 79, " + "x" * 900]))
    assert len(facts) == 40
    assert (facts[0]["fact"], len(facts[0]["line"])) == ("xid_79", 300)
    assert {fact["count"] for fact in facts[1:]} == {3}
