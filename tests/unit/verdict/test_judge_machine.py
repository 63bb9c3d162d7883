"""Events on the machines of a run that trained to its end: those that fail it, and those in notes."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from training_logs import ALL, SILENT, Node, codes, judged

from ansible_collections.trainops.cluster.plugins.module_utils.node.machine_facts import ROW_OF, ROWS, facts_in
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.machine_events import (
    AcceleratorsSeen,
    accelerators_seen,
)

QUIET: dict[str, t.Any] = {
    "booted": False,
    "counters": {},
    "links_down": [],
    "kernel_log": [],
    "kernel_lines": 0,
    "kernel_failures": [],
    "facts": [],
}


def run(
    folder: Path, *names: str, nodes: int = 2, after: float = 10.0, env: t.Any = None, **changes: t.Any
) -> dict[str, t.Any]:
    """Return the summary of a good run whose last node has these rows in its kernel log."""
    facts = facts_in((after, ROW_OF[name].sample) for name in names)
    told = {"machine_changes": QUIET | {"facts": facts} | changes}
    silent = [Node(f"gpu0{place}", SILENT, told={"machine_changes": QUIET}) for place in range(nodes - 1)]
    return judged([*silent, Node(f"gpu0{nodes - 1}", ALL, told=told)], folder, env=env or {})


def notes(summary: dict[str, t.Any]) -> list[str]:
    return [note["message"] for note in summary["notes"] if note["code"] == "machine_note"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_only_what_takes_a_node_out_of_service_keeps_a_run_that_completed_from_passing(row, tmp_path: Path) -> None:
    summary = run(tmp_path, row.name)
    if row.effect == "fail":
        assert (summary["verdict"], codes(summary)) == ("FAIL", [("machine_fault", "gpu01")])
        assert summary["first_failure"]["node"] == "gpu01"
        assert summary["first_failure"]["message"] == row.sample[:300]
        assert notes(summary) == []
    else:
        assert (summary["verdict"], summary["first_failure"]) == ("PASS", None)
        (note,) = notes(summary)
        assert note.startswith("gpu01: ")
        assert row.means in note


def test_a_fact_is_told_with_its_device_and_when_it_was(tmp_path: Path) -> None:
    # The run took 100 s, and each of its 10 steps 0.1 s.
    (note,) = notes(run(tmp_path, "xid_63", after=99.65))
    assert "0000:3b:00, 100 s after the start, about step " in note
    assert note.rstrip(".").endswith(("7", "8"))
    (note,) = notes(run(tmp_path, "xid_63", after=40.0))
    assert "step" not in note


def test_an_error_that_was_contained_passes_and_both_are_told(tmp_path: Path) -> None:
    summary = run(tmp_path, "xid_48", "xid_94")
    assert summary["verdict"] == "PASS"
    assert len(notes(summary)) == 2


@pytest.mark.parametrize(
    ("changes", "env", "verdict", "told"),
    [
        ({"links_down": ["mlx5_0/1"]}, {}, "FAIL", 0),
        ({"links_down": ["mlx5_0/1"]}, {"NCCL_IB_HCA": "mlx5_1", "NCCL_IB_DISABLE": "1"}, "PASS", 1),
        ({"links_down": ["eth3"]}, {}, "PASS", 1),
        ({"counters": {"mlx5_0/1 link_downed": 1}}, {}, "PASS", 1),
        ({"counters": {"mlx5_0/1 link_downed": 1}, "links_down": ["mlx5_0/1"]}, {}, "FAIL", 0),
        ({"counters": {"mlx5_0/1 symbol_error": 7, "eth0 rx_crc_errors": 1}}, {}, "PASS", 1),
        ({"counters": {"mlx5_0/1 np_cnp_sent": 7, "mlx5_0/1 port_xmit_wait": 9}}, {}, "PASS", 0),
        ({"booted": True, "counters": {"mlx5_0/1 link_downed": 1}}, {}, "FAIL", 0),
    ],
    ids=["port down", "another port", "interface", "came back", "stays down", "errors", "congestion", "booted"],
)
def test_a_link_that_stays_down_fails_and_one_that_came_back_is_told(changes, env, verdict, told, tmp_path) -> None:
    summary = run(tmp_path, env=env, **changes)
    assert (summary["verdict"], len(notes(summary))) == (verdict, told)
    first = summary["first_failure"]
    assert (first and first["node"]) == ("gpu01" if verdict == "FAIL" else None)


def test_what_many_nodes_say_is_one_note(tmp_path: Path) -> None:
    facts = {"machine_changes": QUIET | {"facts": facts_in([(1.0, ROW_OF["edac_ce"].sample)])}}
    nodes = [Node(f"gpu{place:02}", SILENT, told=facts) for place in range(63)]
    (note,) = notes(judged([*nodes, Node("gpu63", ALL, told=facts)], tmp_path))
    assert "gpu[00-63] (64 nodes)" in note


def reading(**values: t.Any) -> dict[str, t.Any]:
    return {"held_down_by": None, "ecc_corrected": None, "ecc_uncorrected": None, **values}


def seen_of(*readings: dict[str, t.Any]) -> AcceleratorsSeen:
    return accelerators_seen({"time": float(place), "accelerators": [one]} for place, one in enumerate(readings))


def test_errors_count_from_the_first_sample_whatever_was_counted_before() -> None:
    seen = seen_of(reading(ecc_uncorrected=5.0), reading(), reading(ecc_uncorrected=7.0), reading(ecc_uncorrected=1.0))
    assert seen.errors["ecc_uncorrected"] == {0: 3}
    assert seen.errors["ecc_corrected"] == {}


@pytest.mark.parametrize(
    ("readings", "told"),
    [
        ((reading(held_down_by=["thermal"]), reading(held_down_by=[])), ["GPU 0 in 1 of 2 samples"]),
        ((reading(held_down_by=["power cap"]), reading(held_down_by=["idle"])), []),
        ((reading(ecc_uncorrected=0.0), reading(ecc_uncorrected=2.0)), ["GPU 0: 2"]),
        ((reading(ecc_corrected=9.0), reading(ecc_corrected=9.0)), []),
    ],
    ids=["too hot", "power", "ECC", "no new ones"],
)
def test_what_sensors_say_is_told_and_fails_nothing(readings, told, tmp_path: Path) -> None:
    summary = judged([Node("gpu00", SILENT), Node("gpu01", ALL)], tmp_path, accelerators={"gpu01": seen_of(*readings)})
    assert summary["verdict"] == "PASS"
    assert [any(text in note for note in notes(summary)) for text in told] == [True] * len(told)
    assert len(notes(summary)) == len(told)
