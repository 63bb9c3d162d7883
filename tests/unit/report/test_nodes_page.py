# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory of nodes over isolations: rank, drift, and the page of all nodes."""

from __future__ import annotations

import re
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from test_isolation_write import NODES, isolation, suspect

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.isolation import Isolation
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.isolation_after import (
    remember_measurements,
    update_quarantine,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.node_memory import (
    NodeMemory,
    memory_of,
    read_probes,
    rows_of,
    write_probes,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.runs_index import write_index
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.quarantine import Quarantine


def measured(seconds: dict[str, float], probe: str = "cpu", **of_links: float | None) -> Isolation:
    usual = sorted(seconds.values())[len(seconds) // 2]
    probes: dict[str, t.Any] = {probe: {node: one / usual - 1 for node, one in seconds.items()}}
    probes |= {"tcp": of_links} if of_links else {}
    return t.cast("Isolation", isolation() | {"probes": probes, "seconds": {probe: seconds}})


def remember(folder: Path, *isolations: Isolation) -> dict[str, NodeMemory]:
    for month, one in enumerate(isolations, 1):
        write_probes(folder, rows_of(f"night-{month}", one, datetime(2026, month, 1, tzinfo=UTC)))
    rows, left_out = read_probes(folder)
    assert left_out == []
    return {one.node: one for one in memory_of(rows)}


def test_nodes_are_ranked_by_the_latest_isolation_and_drift_against_their_own_earlier_ones(tmp_path: Path) -> None:
    first = dict.fromkeys(NODES, 1.0)
    nodes = remember(tmp_path, measured(first), measured(first), measured({**first, "gpu2": 1.021, "gpu3": 0.99}))
    assert list(nodes) == ["gpu2", "gpu1", "gpu0", "gpu3"] or list(nodes) == ["gpu2", "gpu0", "gpu1", "gpu3"]
    assert (nodes["gpu3"].rank, nodes["gpu2"].rank, nodes["gpu2"].isolations) == (1, 4, 3)
    (drift,) = nodes["gpu2"].drifts
    assert (drift.probe, drift.by, f"{drift.since:%Y-%m}") == ("cpu", pytest.approx(0.021), "2026-01")
    assert nodes["gpu0"].drifts[0].by == 0
    assert nodes["gpu2"].slowest == ("cpu", "", pytest.approx(0.021))


def test_what_makes_all_nodes_slower_shows_against_their_own_earlier_isolations(tmp_path: Path) -> None:
    first = dict.fromkeys(NODES, 1.0)
    later = {node: 1.04 + 0.01 * place for place, node in enumerate(NODES)} | {"new": 5.0}
    others = {"nodes": {node: {"verdict": "good"} for node in later}}
    at = datetime(2026, 9, 1, tzinfo=UTC)
    assert not any("cpu" in line for line in remember_measurements(tmp_path, "first", measured(first), at))
    found = t.cast("Isolation", measured(later) | others)
    (said,) = (line for line in remember_measurements(tmp_path, "later", found, at.replace(month=10)) if "cpu" in line)
    # The median of the four that were there before.
    assert "+5.5 % (cpu)" in said


def test_another_training_makes_no_node_slower(tmp_path: Path) -> None:
    small, large = (dict.fromkeys(NODES, seconds) for seconds in (0.01, 1.0))
    nodes = remember(tmp_path, *(measured(one, "torch_gemm_of_training") for one in (small, large | {"gpu2": 1.1})))
    drifts = {name: node.drifts[0].by for name, node in nodes.items()}
    assert drifts == {"gpu0": 0, "gpu1": 0, "gpu2": pytest.approx(0.1), "gpu3": 0}


def test_a_node_that_was_replaced_or_is_broken_does_not_hide_the_others(tmp_path: Path) -> None:
    pairs: dict[str, float | None] = dict.fromkeys(NODES, 0.0)
    before = measured(dict.fromkeys([*NODES, "gone"], 1.0), **pairs)
    before["nodes"]["gone"] = before["nodes"]["gpu0"]
    nodes = remember(tmp_path, before, measured(dict.fromkeys(NODES, 1.0), **{**pairs, "gpu1": None}))
    assert next(iter(nodes)) == "gpu1"
    assert nodes["gpu1"].rank is None
    assert nodes["gone"].isolations == 1
    assert {one.probe for one in nodes["gpu0"].drifts} == {"cpu", "tcp"}
    assert nodes["gone"].drifts == []


def test_a_time_of_nothing_in_the_history_is_left_out_of_what_later_ones_are_compared_with(tmp_path: Path) -> None:
    usual = dict.fromkeys(NODES, 1.0)
    nodes = remember(tmp_path, measured({**usual, "gpu2": 0.0}), measured(usual))
    assert nodes["gpu2"].drifts == []
    assert nodes["gpu1"].drifts[0].by == 0


def test_the_page_has_a_row_for_each_node_and_the_index_leads_to_it(tmp_path: Path) -> None:
    (tmp_path / "isolation/night-2").mkdir(parents=True)
    (tmp_path / "isolation/night-2/report.html").write_text("")
    for month, slow in ((1, 1.0), (2, 1.2)):
        found = measured({**dict.fromkeys(NODES, 1.0), "gpu<1>": slow})
        found["nodes"]["gpu<1>"] = found["nodes"]["gpu0"]
        *_, said = remember_measurements(tmp_path, f"night-{month}", found, datetime(2026, month, 1, tzinfo=UTC))
    assert said.endswith("nodes.html")
    page = (tmp_path / "nodes.html").read_text()
    rows = re.findall(r"<tr><th scope=.row.>.*?</tr>", page, re.DOTALL)
    assert len(rows) == 5
    assert "gpu&lt;1&gt;" in rows[0]
    assert "+20" in rows[0]
    assert "2026-01-01" in rows[0]
    assert 'href="isolation/night-2/report.html"' in rows[0]
    write_index(tmp_path)
    index = (tmp_path / "index.html").read_text()
    assert 'href="nodes.html"' in index
    assert 'href="isolation/night-2/report.html"' in index


def test_a_file_of_the_history_that_cannot_be_read_is_named_and_the_others_are_shown(tmp_path: Path) -> None:
    remember_measurements(tmp_path, "one", measured(dict.fromkeys(NODES, 1.0)), datetime(2026, 1, 1, tzinfo=UTC))
    (tmp_path / "isolation/history/month=2026-01/20260102T000000Z_torn.parquet").write_bytes(b"torn")
    remember_measurements(tmp_path, "two", measured(dict.fromkeys(NODES, 1.0)), datetime(2026, 2, 1, tzinfo=UTC))
    page = (tmp_path / "nodes.html").read_text()
    assert "torn.parquet" in page
    assert all(node in page for node in NODES)


@pytest.mark.parametrize("probe", ["cpu", "mean_of_readings"])
def test_bad_nodes_go_into_quarantine_if_that_is_wanted_and_good_ones_leave_it(tmp_path: Path, probe: str) -> None:
    quarantine = Quarantine(tmp_path / "quarantine.json", "hosts")
    probes = {"tests": {"probes": ["cpu"]}}
    bad = t.cast("Isolation", isolation(suspect("gpu2") | {"probe": probe}, gpu2=("slow", probe, False)) | probes)
    assert update_quarantine(quarantine, "night", bad, 0) == []
    assert quarantine.hosts() == {}
    (said,) = update_quarantine(quarantine, "night", bad, 7)
    assert "gpu2" in said
    assert "30.0 % slower" in quarantine.hosts()["gpu2"].reason
    good = t.cast("Isolation", isolation() | probes)
    of_others = t.cast("Isolation", isolation() | {"tests": {"probes": ["memory", "dcgm"]}})
    doubtful = t.cast("Isolation", good | {"unproved": [suspect("gpu2")]})
    for one in (of_others, doubtful):
        assert update_quarantine(quarantine, "later", one, 7) == []
    (said,) = update_quarantine(quarantine, "later", good, 7)
    assert said.startswith("Released")
    assert quarantine.hosts() == {}
    (tmp_path / "quarantine.json").chmod(0o666)
    (said,) = update_quarantine(quarantine, "later", bad, 7)
    assert "cannot be trusted" in said
