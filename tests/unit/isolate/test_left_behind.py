"""The suspects that an isolation begins with: those that a run left behind."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.left_behind import (
    LeftBehind,
    left_behind,
    missing_hosts,
    suspects_of_run,
)

NODES = ["gpu0", "gpu1", "gpu2", "gpu3"]


def summary(**changes: t.Any) -> t.Any:
    return {
        "verdict": "FAIL",
        "mode": "multi_node",
        "nodes": [{"node": node} for node in NODES],
        "first_failure": None,
        "reasons": [],
        "notes": [],
        "stragglers": {"nodes": []},
        **changes,
    }


def failure(
    node: str, failure_class: str, message: str, *echoes: dict[str, str], origin: str = "node"
) -> dict[str, t.Any]:
    return {"node": node, "class": failure_class, "message": message, "echoes": list(echoes), "origin": origin}


def test_slow_nodes_failed_nodes_and_what_machines_report_are_suspects_with_the_reason() -> None:
    found = suspects_of_run(
        summary(
            stragglers={"nodes": [{"node": "gpu1", "slower": 0.213}]},
            first_failure=failure("gpu2", "nccl", "remote process exited"),
            notes=[
                {"code": "machine_note", "node": "gpu3", "message": "gpu3: link of mlx5_0 went down."},
                {"code": "stragglers", "message": "Slow nodes: gpu1."},
            ],
        )
    )
    assert list(found) == ["gpu1", "gpu2", "gpu3"]
    assert "21.3 %" in found["gpu1"]
    assert "remote process exited" in found["gpu2"]
    assert "mlx5_0" in found["gpu3"]


def test_a_hang_of_which_nothing_shows_the_origin_makes_nobody_suspect() -> None:
    hung = failure("gpu0", "stalled", "No log grew for 60 s.", origin="unknown")
    assert suspects_of_run(summary(first_failure=hung)) == {}


def test_a_hang_that_an_earlier_version_judged_makes_nobody_suspect() -> None:
    hung = failure("gpu0", "stalled", "No log grew for 60 s. Which rank is blocking the others is unknown.")
    del hung["origin"]
    assert suspects_of_run(summary(first_failure=hung)) == {}
    failed = failure("gpu0", "gpu_ecc", "Uncorrectable ECC error")
    del failed["origin"]
    assert list(suspects_of_run(summary(first_failure=failed))) == ["gpu0"]


def test_a_run_has_its_nodes_and_suspects_and_says_so(tmp_path: Path) -> None:
    run = tmp_path / "night"
    run.mkdir()
    (run / "plan.json").write_text("{}")
    with pytest.raises(ValueError, match="not judged"):
        left_behind(tmp_path, "night")
    (run / "summary.json").write_text(json.dumps(summary(stragglers={"nodes": [{"node": "gpu1", "slower": 0.2}]})))
    left = left_behind(tmp_path, "night")
    assert (left.nodes, list(left.suspects)) == (NODES, ["gpu1"])
    assert "gpu1" in "".join(left.in_words())
    with pytest.raises(ValueError, match=r"no run 'day': its latest runs are night"):
        left_behind(tmp_path, "day")


def test_nodes_that_the_inventory_lacks_are_named() -> None:
    assert missing_hosts(LeftBehind("night", NODES), {*NODES, "more"}) == []
    (problem,) = missing_hosts(LeftBehind("night", NODES), {"gpu0", "gpu1"})
    assert "gpu2, gpu3" in problem
    assert LeftBehind().in_words() == []
